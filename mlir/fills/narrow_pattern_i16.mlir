// 300 in i16 is two different bytes: a pattern of two.
//
// aiepipe-test
// run: no
// fills: fill_buffer 1
// fate: bytes [12, 32) of result 0 at each call
func.func @main(%a: tensor<6xi16>) -> tensor<16xi16> {
  %c = arith.constant 300 : i16
  %e = tensor.empty() : tensor<10xi16>
  %f = linalg.fill ins(%c : i16) outs(%e : tensor<10xi16>) -> tensor<10xi16>
  %r = tensor.concat dim(0) %a, %f : (tensor<6xi16>, tensor<10xi16>) -> tensor<16xi16>
  return %r : tensor<16xi16>
}
