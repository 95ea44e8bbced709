// Pooling of 2x2 pixels to their largest, stride 2: indices are twice one loop plus another. The window is a
// tensor without content, as linalg's pooling ops have it.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @max_pool(%image: tensor<14x18x6xi8>) -> tensor<7x9x6xi8> {
  %least = arith.constant -128 : i8
  %window = tensor.empty() : tensor<2x2xi8>
  %0 = tensor.empty() : tensor<7x9x6xi8>
  %1 = linalg.fill ins(%least : i8) outs(%0 : tensor<7x9x6xi8>) -> tensor<7x9x6xi8>
  %2 = linalg.generic {
      indexing_maps = [affine_map<(y, x, c, r, s) -> (2 * y + r, 2 * x + s, c)>, affine_map<(y, x, c, r, s) -> (r, s)>, affine_map<(y, x, c, r, s) -> (y, x, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%image, %window : tensor<14x18x6xi8>, tensor<2x2xi8>) outs(%1 : tensor<7x9x6xi8>) {
  ^bb0(%in: i8, %shape: i8, %so_far: i8):
    %most = arith.maxsi %in, %so_far : i8
    linalg.yield %most : i8
  } -> tensor<7x9x6xi8>
  return %2 : tensor<7x9x6xi8>
}
