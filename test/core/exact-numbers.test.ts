/** Numbers that no double has: read, written, passed through other parsers, hashed and judged with all their digits. */
import { expect, test } from 'vitest'
import fc from 'fast-check'
import { issuesIn, judge } from '../../src/core/json-schema.ts'
import {
  canonicalJson,
  copyJson,
  exactNumber,
  ExactNumber,
  hashJson,
  NumberRangeError,
  packValue,
  packText,
  readForeignJson,
  readJson,
  tryParseForeignJson,
  tryParseJson,
  unpackValue,
  unpackText,
  writeJson,
  packingStream,
} from '../../src/core/json.ts'

const id = '2512292042121000001'

/** As written, as kept: null where it is refused. */
const numbers: [string, string | null][] = [
  [id, id],
  ['-9007199254740993', '-9007199254740993'],
  ['9007199254740991', '9007199254740991'],
  ['18446744073709551615', '18446744073709551615'],
  ['100000000000000000000', '100000000000000000000'],
  ['0.12345678901234567891', '0.12345678901234567891'],
  ['12345678901234567.5', '12345678901234567.5'],
  ['123456789012345678901e2', '12345678901234567890100'],
  ['0.30000000000000004', '0.30000000000000004'],
  ['1.0', '1'],
  ['1e3', '1000'],
  ['1E-7', '1e-7'],
  ['-0', '0'],
  ['0e999999', '0'],
  ['1e308', '1e+308'],
  ['5e-324', '5e-324'],
  ['1e309', null],
  ['-1e400', null],
  ['1e-400', null],
  ['9'.repeat(401), null],
  [`0.${'1'.repeat(500)}`, null],
  [`1${'0'.repeat(2000)}`, null],
]

test.each(numbers)('%s is kept exactly or refused', (written, kept) => {
  const text = `{"a":[${written}],"text":"${written}"}`
  if (kept === null) {
    expect(() => readJson(text)).toThrow(NumberRangeError)
    expect(readForeignJson(text)).toEqual({ a: [written], text: written })
    expect(tryParseJson(text)).toBeUndefined()
  } else {
    expect(writeJson(readJson(text))).toBe(`{"a":[${kept}],"text":"${written}"}`)
    expect(canonicalJson(readJson(text))).toBe(writeJson(readJson(text)))
  }
})

test('a number that is refused is named with its path', () => {
  const refused = (text: string) => {
    try {
      return readJson(text)
    } catch (error) {
      return [(error as NumberRangeError).path.join('.'), (error as Error).message]
    }
  }
  expect(refused('{"input":{"ids":[1,1e400]}}')).toEqual([
    'input.ids.1',
    '1e400 cannot be kept exactly: send it as a text',
  ])
  expect(refused(`[${'7'.repeat(600)}]`)).toEqual([
    '0',
    `${'7'.repeat(40)}… cannot be kept exactly: send it as a text`,
  ])
})

test('what is no JSON stays none, also where it has many digits', () => {
  for (const text of [
    `[0${id}]`,
    `[${id}.]`,
    `[+${id}]`,
    `[${id}e]`,
    `{"a":${id}`,
    `["${id}]`,
    `[--${id}]`,
    '',
  ])
    expect(() => readJson(text), text).toThrow(SyntaxError)
})

test('equal numbers are equal however they are written, and no two others are', () => {
  expect(hashJson(readJson(`[${id}.0]`))).toBe(hashJson(readJson(`[${id}]`)))
  expect(hashJson(readJson('[25122920421210000010e-1]'))).toBe(hashJson(readJson('[2512292042121000001]')))
  expect(hashJson(readJson('[2512292042121000002]'))).not.toBe(hashJson(readJson('[2512292042121000001]')))
  expect(hashJson(readJson(`["${id}"]`))).not.toBe(hashJson(readJson(`[${id}]`)))
})

const value = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }).map((text) => text.toWellFormed().replaceAll('\0', 'x')),
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map((n) => exactNumber(String(n))),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('node'), { maxLength: 4 }),
    fc
      .dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), tie('node'), { maxKeys: 4 })
      .map((one) => ({ ...one })),
  ),
})).node

test('every value comes back from its text, and from a parser and a serializer that know doubles only', () => {
  fc.assert(
    fc.property(value, (one) => {
      const text = writeJson(one)
      expect(writeJson(readJson(text))).toBe(text)
      expect(writeJson(unpackValue(JSON.parse(packText(text))))).toBe(text)
      expect(unpackText(JSON.stringify(packValue(one)))).toBe(text)
      expect(writeJson(copyJson(one))).toBe(text)
      const inText = unpackText(JSON.stringify({ arguments: JSON.stringify(packValue(one)) }))
      expect((JSON.parse(inText) as { arguments: string }).arguments).toBe(text)
    }),
  )
})

test('a serializer that knows nothing of exact numbers writes their digits as a text', () => {
  expect(JSON.stringify({ id: readJson(id) })).toBe(`{"id":"${id}"}`)
  expect(String(readJson(id))).toBe(id)
})

test('text is canonical: NUL and halves of pairs are U+FFFD, pairs and escapes of backslashes stay', () => {
  const read = readJson(String.raw`{"\u0000k":"\u0000 \ud83d\ude00 \ud83d \ude00 \\u0000 \\\u0000 \uD83Dx"}`)
  expect(read).toEqual({ '\ufffdk': '\ufffd 😀 \ufffd \ufffd \\u0000 \\\ufffd \ufffdx' })
})

test('of equal keys the last one counts, __proto__ is an ordinary one', () => {
  expect(writeJson(readJson(`{"a":${id},"a":2,"__proto__":{"b":${id}}}`))).toBe(
    `{"a":2,"__proto__":{"b":${id}}}`,
  )
})

test('a stream is packed as it comes, cut anywhere', async () => {
  const events = `id: ${id}\ndata: {"id":${id},"t":"é\\u0000"}\r\n\ndata: {"n":1}\n\n`
  const bytes = new TextEncoder().encode(events)
  for (let size = 1; size <= bytes.length; size += 7) {
    const { readable, writable } = packingStream({ isEvents: true })
    const writer = writable.getWriter()
    void (async () => {
      for (let at = 0; at < bytes.length; at += size) await writer.write(bytes.subarray(at, at + size))
      await writer.close()
    })()
    const text = await new Response(readable).text()
    expect(text.startsWith(`id: ${id}\n`)).toBe(true)
    const data = text.split('\n').find((line) => line.startsWith('data:'))
    expect(writeJson(unpackValue(JSON.parse(data!.slice(5))))).toBe(`{"id":${id},"t":"é\ufffd"}`)
  }
})

const judgements: [schema: string, value: string, fits: string][] = [
  ['{"type":"integer"}', id, 'YES'],
  ['{"type":"number"}', '0.12345678901234567891', 'YES'],
  ['{"type":"string"}', id, 'NO'],
  ['{"type":"integer"}', '12345678901234567.5', 'NO'],
  ['{"type":"number"}', '12345678901234567.5', 'YES'],
  [`{"maximum":${id}}`, id, 'YES'],
  [`{"maximum":${id}}`, '2512292042121000002', 'NO'],
  [`{"exclusiveMaximum":${id}}`, id, 'NO'],
  [`{"minimum":${id}}`, '2512292042121000000', 'NO'],
  [`{"exclusiveMinimum":2512292042121000000}`, id, 'YES'],
  ['{"maximum":1000}', id, 'NO'],
  ['{"minimum":0}', id, 'YES'],
  ['{"maximum":9223372036854775807}', '5', 'YES'],
  ['{"maximum":9223372036854775807}', '9223372036854775808', 'NO'],
  [`{"const":${id}}`, id, 'YES'],
  [`{"const":${id}}`, '2512292042121000000', 'NO'],
  [`{"const":{"a":[${id}]}}`, `{"a":[${id}]}`, 'YES'],
  [`{"const":{"a":[${id}]}}`, '{"a":[2512292042121000002]}', 'NO'],
  [`{"enum":["x",${id}]}`, id, 'YES'],
  [`{"enum":["x",${id}]}`, '2512292042121000003', 'NO'],
  ['{"multipleOf":3}', '2512292042121000001', 'NO'],
  ['{"multipleOf":10}', '25122920421210000010', 'YES'],
  ['{"multipleOf":1e-13}', '1234567890.1234567890123', 'YES'],
  ['{"uniqueItems":true}', `[${id},2512292042121000002]`, 'YES'],
  ['{"uniqueItems":true}', `[${id},${id}.0]`, 'NO'],
  [
    `{"properties":{"a":{"$ref":"#/$defs/id"}},"$defs":{"id":{"maximum":${id}}}}`,
    '{"a":2512292042121000002}',
    'NO',
  ],
  [`{"if":{"properties":{"amount":{"maximum":10}}},"then":false}`, `{"amount":${id}}`, 'YES'],
]

test.each(judgements)('%s judges %s: %s', (schema, one, fits) => {
  expect(judge(readJson(schema), 'proj_a', readJson(one)).fits).toBe(fits)
})

test('a schema with a limit of 19 digits is valid, and its faults name the place', () => {
  const schema = readJson(`{"properties":{"id":{"type":"integer","maximum":${id}}}}`)
  expect(issuesIn(schema, 'proj_a', readJson('{"id":9999999999999999999}'))).toEqual([
    { path: ['id'], message: 'must not be above the maximum' },
  ])
  expect(exactNumber(id)).toBeInstanceOf(ExactNumber)
})

test('in an answer a number that JSON has not is its text; nothing else is mended', () => {
  const foreign = (text: string) => tryParseForeignJson(text)
  expect(foreign('{"a":[NaN,-Infinity,1e999],"NaN":"a \\"NaN, Infinity"}')).toEqual({
    a: ['NaN', '-Infinity', '1e999'],
    NaN: 'a "NaN, Infinity',
  })
  expect(writeJson(foreign('[NaN,2512292042121000001]'))).toBe('["NaN",2512292042121000001]')
  for (const text of ['{"a":NaNs}', '[NaN', '{"a":nan}', '[NaN NaN]', '{NaN 1}'])
    expect(foreign(text)).toBe(undefined)
  expect(tryParseJson('[NaN]')).toBe(undefined)
})
