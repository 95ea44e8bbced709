// A 3x3 convolution as im2col and matmul: 10x10 pixels of 4 channels, 8 filters, no padding.
// The patches are gathered by indices that add two loops.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @conv(%image: tensor<10x10x4xi8>, %filters: tensor<36x8xi8>) -> tensor<64x8xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<8x8x3x3x4xi8>
  %patches = linalg.generic {
      indexing_maps = [affine_map<(y, x, r, s, c) -> (y + r, x + s, c)>, affine_map<(y, x, r, s, c) -> (y, x, r, s, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%image : tensor<10x10x4xi8>) outs(%0 : tensor<8x8x3x3x4xi8>) {
  ^bb0(%in: i8, %unused: i8):
    linalg.yield %in : i8
  } -> tensor<8x8x3x3x4xi8>
  %rows = tensor.collapse_shape %patches [[0, 1], [2, 3, 4]] : tensor<8x8x3x3x4xi8> into tensor<64x36xi8>
  %1 = tensor.empty() : tensor<64x8xi32>
  %2 = linalg.fill ins(%zero : i32) outs(%1 : tensor<64x8xi32>) -> tensor<64x8xi32>
  %3 = linalg.matmul ins(%rows, %filters : tensor<64x36xi8>, tensor<36x8xi8>) outs(%2 : tensor<64x8xi32>) -> tensor<64x8xi32>
  return %3 : tensor<64x8xi32>
}
