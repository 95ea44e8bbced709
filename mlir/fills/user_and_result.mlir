// A fill that an op takes and the caller gets, too.
//
// aiepipe-test
// run: no
// fills: fill_buffer 1
// fate: fused into dispatch main_dispatch_0_matmul_8x8x8_i32 (matmul); hal.command_buffer.fill_buffer of bytes [256, 512) of result 1
func.func @main(%a: tensor<8x8xi32>, %b: tensor<8x8xi32>) -> (tensor<8x8xi32>, tensor<8x8xi32>) {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<8x8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  %r = linalg.matmul ins(%a, %b : tensor<8x8xi32>, tensor<8x8xi32>) outs(%f : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r, %f : tensor<8x8xi32>, tensor<8x8xi32>
}
