/** The pure part of exports, and the reading of long lists. */
import { expect, test } from 'vitest'
import { csvOf } from '../../web/src/parts/csv.ts'

const lines = (text: string) => text.slice(1).split('\r\n')

test('CSV has a byte order mark, lines that end with CR LF, and quotes where RFC 4180 wants them', () => {
  const text = csvOf(
    ['a', 'b "c"'],
    [
      ['x,y', 'two\nlines'],
      [null, 12.5],
      [undefined, { k: 'v' }],
      [true, 'ü 退'],
    ],
  )
  expect(text).toBe('\uFEFFa,"b ""c"""\r\n"x,y","two\nlines"\r\n,12.5\r\n,"{""k"":""v""}"\r\ntrue,ü 退\r\n')
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\r=1', '\n=1', '="a","b"'])(
  'a cell that begins like %j is text',
  (cell) => {
    const [, row] = csvOf(['a'], [[cell]])
      .slice(1)
      .split(/\r\n(.*)/s)
    expect(row!.replace(/^"/, '').startsWith("'")).toBe(true)
  },
)

test('a cell of a spreadsheet that separates by semicolons is text as well, also in a line of its own', () => {
  const [, ...rows] = lines(
    csvOf(
      ['a', 'b'],
      [
        ['x', 'y;=1+1;'],
        ['z\n@SUM(A1);', { note: 'w\t-2;+3' }],
      ],
    ),
  )
  const cells = rows.flatMap((row) => row.split(/[;\t\r\n]/))
  expect(cells.filter((cell) => /^[=+\-@]/.test(cell))).toEqual([])
})

test('what only contains such signs stays as it is, and names of columns are cells as well', () => {
  expect(lines(csvOf(['=a'], [['1+1=2'], [-5], ["'x"]]))).toEqual(["'=a", '1+1=2', "'-5", "'x", ''])
})
