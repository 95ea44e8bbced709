// 7 + A @ B with K = 0: a sum over nothing, so the fill is the result. IREE's own compiler dies on it (SIGFPE).
//
// aiepipe-test
// input: 4x0xi32=0
// input: 0x3xi32=0
// output: 4x3xi32=7
// fills: queue.fill
func.func @main(%a: tensor<4x0xi32>, %b: tensor<0x3xi32>) -> tensor<4x3xi32> {
  %seven = arith.constant 7 : i32
  %empty = tensor.empty() : tensor<4x3xi32>
  %fill = linalg.fill ins(%seven : i32) outs(%empty : tensor<4x3xi32>) -> tensor<4x3xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x0xi32>, tensor<0x3xi32>) outs(%fill : tensor<4x3xi32>) -> tensor<4x3xi32>
  return %0 : tensor<4x3xi32>
}
