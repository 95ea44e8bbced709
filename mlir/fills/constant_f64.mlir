// A lone fill of a constant, f64: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: builtin 1
// fate: __builtin_splat_i64 of bytes [0, 64) of global @__hoisted_tensor_8xf64 at start-up
func.func @main() -> tensor<8xf64> {
  %c = arith.constant 0.1 : f64
  %e = tensor.empty() : tensor<8xf64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  return %f : tensor<8xf64>
}
