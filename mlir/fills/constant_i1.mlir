// A lone fill of a constant, i1: a byte for each element.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at each call
func.func @main() -> tensor<8xi1> {
  %c = arith.constant true
  %e = tensor.empty() : tensor<8xi1>
  %f = linalg.fill ins(%c : i1) outs(%e : tensor<8xi1>) -> tensor<8xi1>
  return %f : tensor<8xi1>
}
