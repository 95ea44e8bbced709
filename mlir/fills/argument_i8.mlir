// A fill with a value that the caller gives, i8.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: of result 0 at each call
func.func @main(%v: i8) -> tensor<8xi8> {
  %e = tensor.empty() : tensor<8xi8>
  %f = linalg.fill ins(%v : i8) outs(%e : tensor<8xi8>) -> tensor<8xi8>
  return %f : tensor<8xi8>
}
