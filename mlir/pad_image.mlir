// An image with a border of threes: the host fills the result, a dispatch copies the inner part into it.
// Rows of 9 halfwords begin and end in the middle of words, whose other half has to stay.
//
// aiepipe-test
// fills: fill_buffer
// hazards: none
func.func @pad(%image: tensor<7x9xi16>) -> tensor<10x12xi16> {
  %three = arith.constant 3 : i16
  %0 = tensor.pad %image low[1, 2] high[2, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %three : i16
  } : tensor<7x9xi16> to tensor<10x12xi16>
  return %0 : tensor<10x12xi16>
}
