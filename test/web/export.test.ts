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

test.each([
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tx',
  '\r=1',
  '\n=1',
  '="a","b"',
  '"=1',
  ' =1',
  '"" "=1',
  '＝1',
  '－1',
])('a cell that begins like %j is text', (cell) => {
  const [, row] = csvOf(['a'], [[cell]])
    .slice(1)
    .split(/\r\n(.*)/s)
  expect(row!.replace(/^"/, '').startsWith("'")).toBe(true)
})

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

/** What a reader makes of a line that separates by `separator` and takes a stray quote as it comes, as spreadsheets do. */
function lenientCells(text: string, separator: string): string[] {
  const cells: string[] = []
  let [cell, isQuoted, atStart] = ['', false, true]
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (isQuoted && char === '"' && text[i + 1] === '"') {
      cell += char
      i++
    } else if (isQuoted && char === '"') isQuoted = false
    else if (atStart && char === '"') isQuoted = true
    else if (!isQuoted && (char === separator || /[\r\n\v\f\u0085\u2028\u2029]/.test(char))) {
      cells.push(cell)
      ;[cell, atStart] = ['', true]
      continue
    } else cell += char
    atStart = false
  }
  return [...cells, cell]
}

test.each([',', ';', '\t', '|'])('no cell is a formula for a reader that separates by %j', (separator) => {
  const beginnings = ['', 'x', '"', '""', 'a,"b"', '1;', "'"]
  const ends = ['=1+1', '+1', '-1', '@A1', '＝1', '"=1', '""=1+1', '"""=1', ' =1', '" =1']
  const between = [
    '',
    ';',
    '\t',
    '|',
    '\n',
    '\r\n',
    '\v',
    '\f',
    '\u0085',
    '\u2028',
    ';"',
    '\t""',
    '|" ',
    ';;',
    ';\n',
  ]
  for (const beginning of beginnings)
    for (const middle of between)
      for (const end of ends) {
        const text = csvOf(['a', 'b'], [['x', `${beginning}${middle}${end}`]]).slice(1)
        // A stray quote may be kept, and spaces trimmed.
        const cells = lenientCells(text, separator).map((one) => one.replace(/^["\s]+/, ''))
        const isCell = middle !== '' || beginning === '' || /^"+$/.test(beginning)
        if (isCell)
          expect(
            cells.filter((one) => /^[=+\-@＝＋－＠]/.test(one)),
            JSON.stringify(text),
          ).toEqual([])
      }
})

test('what only contains such signs stays as it is, and names of columns are cells as well', () => {
  expect(lines(csvOf(['=a'], [['1+1=2'], [-5], ["'x"]]))).toEqual(["'=a", '1+1=2', "'-5", "'x", ''])
})
