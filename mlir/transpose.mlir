// A transposition of i8: 33 rows of 65 bytes to 65 rows of 33. Neither has rows of whole words.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @transpose(%x: tensor<33x65xi8>) -> tensor<65x33xi8> {
  %0 = tensor.empty() : tensor<65x33xi8>
  %1 = linalg.transpose ins(%x : tensor<33x65xi8>) outs(%0 : tensor<65x33xi8>) permutation = [1, 0]
  return %1 : tensor<65x33xi8>
}
