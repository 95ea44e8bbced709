// A multilayer perceptron in i8: two linear layers, the first with bias, ReLU and a shift back to i8.
// IREE fuses bias, ReLU, shift and saturation into the matmul's dispatch: two dispatches in all.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @mlp(%x: tensor<24x64xi8>, %w1: tensor<64x48xi8>, %b1: tensor<48xi32>, %w2: tensor<48x16xi8>, %b2: tensor<16xi32>) -> tensor<24x16xi32> {
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
  %most = arith.constant 127 : i32
  %0 = tensor.empty() : tensor<24x48xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<24x48xi32>) -> tensor<24x48xi32>
  %2 = linalg.matmul ins(%x, %w1 : tensor<24x64xi8>, tensor<64x48xi8>) outs(%1 : tensor<24x48xi32>) -> tensor<24x48xi32>
  %3 = tensor.empty() : tensor<24x48xi8>
  %hidden = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%2, %b1 : tensor<24x48xi32>, tensor<48xi32>) outs(%3 : tensor<24x48xi8>) {
  ^bb0(%a: i32, %b: i32, %unused: i8):
    %sum = arith.addi %a, %b : i32
    %relu = arith.maxsi %sum, %zero : i32
    %shifted = arith.shrsi %relu, %seven : i32
    %clamped = arith.minsi %shifted, %most : i32
    %narrow = arith.trunci %clamped : i32 to i8
    linalg.yield %narrow : i8
  } -> tensor<24x48xi8>
  %4 = tensor.empty() : tensor<24x16xi32>
  %5 = linalg.fill ins(%zero : i32) outs(%4 : tensor<24x16xi32>) -> tensor<24x16xi32>
  %6 = linalg.matmul ins(%hidden, %w2 : tensor<24x48xi8>, tensor<48x16xi8>) outs(%5 : tensor<24x16xi32>) -> tensor<24x16xi32>
  %logits = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%6, %b2 : tensor<24x16xi32>, tensor<16xi32>) outs(%4 : tensor<24x16xi32>) {
  ^bb0(%a: i32, %b: i32, %unused: i32):
    %sum = arith.addi %a, %b : i32
    linalg.yield %sum : i32
  } -> tensor<24x16xi32>
  return %logits : tensor<24x16xi32>
}
