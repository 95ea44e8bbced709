// A fill with a value that the caller gives, bf16.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: of result 0 at each call
func.func @main(%v: bf16) -> tensor<8xbf16> {
  %e = tensor.empty() : tensor<8xbf16>
  %f = linalg.fill ins(%v : bf16) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
  return %f : tensor<8xbf16>
}
