// Bytes 3 to 7 of 16: no whole words.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: bytes [3, 8) of argument 0 at each call
func.func @main(%a: tensor<16xi8>) -> tensor<16xi8> {
  %c = arith.constant 7 : i8
  %e = tensor.empty() : tensor<5xi8>
  %f = linalg.fill ins(%c : i8) outs(%e : tensor<5xi8>) -> tensor<5xi8>
  %r = tensor.insert_slice %f into %a[3] [5] [1] : tensor<5xi8> into tensor<16xi8>
  return %r : tensor<16xi8>
}
