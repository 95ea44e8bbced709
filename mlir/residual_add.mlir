// A residual connection in i8: both sides widened, added, saturated. Rows of 57 bytes are no whole words.
//
// aiepipe-test
// fills: none
// hazards: none
//
// aiepipe-test: saturation
// input: 19x57xi8=100
// input: 19x57xi8=100
// output: 19x57xi8=127
func.func @residual(%x: tensor<19x57xi8>, %y: tensor<19x57xi8>) -> tensor<19x57xi8> {
  %low = arith.constant -128 : i16
  %high = arith.constant 127 : i16
  %0 = tensor.empty() : tensor<19x57xi8>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<19x57xi8>, tensor<19x57xi8>) outs(%0 : tensor<19x57xi8>) {
  ^bb0(%a: i8, %b: i8, %unused: i8):
    %a16 = arith.extsi %a : i8 to i16
    %b16 = arith.extsi %b : i8 to i16
    %sum = arith.addi %a16, %b16 : i16
    %above = arith.maxsi %sum, %low : i16
    %below = arith.minsi %above, %high : i16
    %narrow = arith.trunci %below : i16 to i8
    linalg.yield %narrow : i8
  } -> tensor<19x57xi8>
  return %1 : tensor<19x57xi8>
}
