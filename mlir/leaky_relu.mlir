// Leaky ReLU of i16: negative numbers are divided by eight, by a comparison and a choice.
//
// aiepipe-test
// fills: none
// hazards: none
//
// aiepipe-test: negative
// input: 45x77xi16=-17
// output: 45x77xi16=-3
func.func @leaky_relu(%x: tensor<45x77xi16>) -> tensor<45x77xi16> {
  %zero = arith.constant 0 : i16
  %three = arith.constant 3 : i16
  %0 = tensor.empty() : tensor<45x77xi16>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<45x77xi16>) outs(%0 : tensor<45x77xi16>) {
  ^bb0(%a: i16, %unused: i16):
    %negative = arith.cmpi slt, %a, %zero : i16
    %small = arith.shrsi %a, %three : i16
    %chosen = arith.select %negative, %small, %a : i16
    linalg.yield %chosen : i16
  } -> tensor<45x77xi16>
  return %1 : tensor<45x77xi16>
}
