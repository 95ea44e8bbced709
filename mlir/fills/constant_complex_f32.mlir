// A lone fill of a constant, complex<f32>.
//
// aiepipe-test
// run: no
// fills: builtin 1
// fate: __builtin_splat_i64 of bytes [0, 64) of result 0 at each call
func.func @main() -> tensor<8xcomplex<f32>> {
  %c = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>
  %e = tensor.empty() : tensor<8xcomplex<f32>>
  %f = linalg.fill ins(%c : complex<f32>) outs(%e : tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %f : tensor<8xcomplex<f32>>
}
