// The sums of an i8 matrix along both dimensions, in i32.
//
// aiepipe-test
// fills: none
// hazards: none
//
// aiepipe-test: ones
// input: 37x50xi8=1
// output: 37xi32=50
// output: 50xi32=37
func.func @sums(%x: tensor<37x50xi8>) -> (tensor<37xi32>, tensor<50xi32>) {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<37xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<37xi32>) -> tensor<37xi32>
  %rows = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<37x50xi8>) outs(%1 : tensor<37xi32>) {
  ^bb0(%in: i8, %so_far: i32):
    %wide = arith.extsi %in : i8 to i32
    %sum = arith.addi %so_far, %wide : i32
    linalg.yield %sum : i32
  } -> tensor<37xi32>
  %2 = tensor.empty() : tensor<50xi32>
  %3 = linalg.fill ins(%zero : i32) outs(%2 : tensor<50xi32>) -> tensor<50xi32>
  %columns = linalg.generic {
      indexing_maps = [affine_map<(n, m) -> (m, n)>, affine_map<(n, m) -> (n)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<37x50xi8>) outs(%3 : tensor<50xi32>) {
  ^bb0(%in: i8, %so_far: i32):
    %wide = arith.extsi %in : i8 to i32
    %sum = arith.addi %so_far, %wide : i32
    linalg.yield %sum : i32
  } -> tensor<50xi32>
  return %rows, %columns : tensor<37xi32>, tensor<50xi32>
}
