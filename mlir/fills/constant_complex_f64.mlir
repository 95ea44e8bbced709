// A lone fill of a constant, complex<f64> (16 bytes a piece).
//
// aiepipe-test
// run: no
// error: stream.async.splat' op operand #0 must be 8-bit signless integer
func.func @main() -> tensor<8xcomplex<f64>> {
  %c = complex.constant [1.0 : f64, 2.0 : f64] : complex<f64>
  %e = tensor.empty() : tensor<8xcomplex<f64>>
  %f = linalg.fill ins(%c : complex<f64>) outs(%e : tensor<8xcomplex<f64>>) -> tensor<8xcomplex<f64>>
  return %f : tensor<8xcomplex<f64>>
}
