// Two pieces of bytes one after the other, the second from the middle of a word on.
//
// aiepipe-test
// hazards: none
func.func @concat(%a: tensor<5x7xi8>, %b: tensor<6x7xi8>) -> tensor<11x7xi8> {
  %0 = tensor.concat dim(0) %a, %b : (tensor<5x7xi8>, tensor<6x7xi8>) -> tensor<11x7xi8>
  return %0 : tensor<11x7xi8>
}
