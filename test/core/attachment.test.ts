/** Names of files in headers. */
import { expect, test } from 'vitest'
import { attachmentNamed } from '../../src/core/content.ts'

test.each([
  ['report.pdf', 'report.pdf'],
  ['häuser und mehr.txt', 'h%C3%A4user%20und%20mehr.txt'],
  ["it's (1)*.txt", 'it%27s%20%281%29%2A.txt'],
  ['a"; filename="b\r\nc', 'a%22%3B%20filename%3D%22b%0D%0Ac'],
])('%s', (filename, encoded) => {
  expect(attachmentNamed(filename)).toBe(`attachment; filename*=UTF-8''${encoded}`)
})
