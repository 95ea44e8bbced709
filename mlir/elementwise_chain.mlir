// A chain of elementwise ops on i32, of a size that is no multiple of anything: one dispatch, several tiles.
//
// aiepipe-test
// fills: none
// hazards: none
//
// aiepipe-test: extremes
// input: 61x131xi32=-2147483648
// input: 61x131xi32=-1
// output: 61x131xi32=2147483392
func.func @chain(%x: tensor<61x131xi32>, %y: tensor<61x131xi32>) -> tensor<61x131xi32> {
  %mask = arith.constant 255 : i32
  %0 = tensor.empty() : tensor<61x131xi32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<61x131xi32>, tensor<61x131xi32>) outs(%0 : tensor<61x131xi32>) {
  ^bb0(%a: i32, %b: i32, %unused: i32):
    %sum = arith.addi %a, %b : i32
    %low = arith.andi %b, %mask : i32
    %less = arith.subi %sum, %low : i32
    linalg.yield %less : i32
  } -> tensor<61x131xi32>
  %2 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%1, %y : tensor<61x131xi32>, tensor<61x131xi32>) outs(%0 : tensor<61x131xi32>) {
  ^bb0(%a: i32, %b: i32, %unused: i32):
    %greater = arith.maxsi %a, %b : i32
    linalg.yield %greater : i32
  } -> tensor<61x131xi32>
  return %2 : tensor<61x131xi32>
}
