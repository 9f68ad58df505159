/** A pasted curl command: what becomes of each part, and that no credential is kept. */
import { describe, expect, test } from 'vitest'
import { toolOfCurl, type CurlTool } from '../../web/src/screens/tools/import/curl.ts'
import { shellWords } from '../../web/src/screens/tools/import/shell-words.ts'

function tool(text: string): CurlTool {
  const read = toolOfCurl(text)
  if ('why' in read) throw new Error(read.why)
  return read
}
const types = ({ rows }: CurlTool) => Object.fromEntries(rows.map(({ name, type }) => [name, type]))

describe('the words of a command', () => {
  test.each([
    [`a 'b c' "d e" f\\ g`, ['a', 'b c', 'd e', 'f g']],
    [`a'b'"c"d`, ['abcd']],
    [`"say \\"hi\\" \\n"`, ['say "hi" \\n']],
    [`$'it\\'s\\u0021\\n'`, ["it's!\n"]],
    ['a \\\n  b \\\r\n  c', ['a', 'b', 'c']],
    [`'' ""`, ['', '']],
    [`'never closed`, ['never closed']],
  ])('of %j', (text, words) => {
    expect(shellWords(text).words).toEqual(words)
  })

  test('end where another command begins, and variables are named', () => {
    expect(shellWords('curl a | jq .')).toEqual({ words: ['curl', 'a'], behind: '| jq .', variables: [] })
    expect(shellWords(`curl "$HOST/x" '$KEPT' \${A} $(date)`).variables).toEqual(['$HOST', '${A}', '$(date)'])
  })
})

test('a command of a manual becomes method, URL, headers and arguments', () => {
  const made = tool(`curl -X PATCH https://api.shop.test/v1/orders/17/refunds \\
    -H 'Accept: application/json' \\
    -H "Content-Type: application/json" \\
    -d '{"amount": 12.5, "reason": "late", "lines": [{"sku": "A"}]}'`)
  expect(made).toMatchObject({
    name: 'patch_orders_refunds',
    method: 'PATCH',
    url: 'https://api.shop.test/v1/orders/17/refunds',
    headers: { Accept: 'application/json' },
    secrets: [],
    notes: [],
  })
  expect(types(made)).toEqual({ amount: 'number', reason: 'string', lines: 'array' })
})

test.each([
  ['curl https://h.test', 'GET'],
  ['curl -d a=1 https://h.test', 'POST'],
  ['curl -G -d a=1 https://h.test', 'GET'],
  ['curl -I https://h.test', 'HEAD'],
  ['curl --json {} https://h.test', 'POST'],
  ['curl -XDELETE https://h.test', 'DELETE'],
  ['curl --request=PUT --url https://h.test', 'PUT'],
  ['curl -sSXPUT https://h.test', 'PUT'],
  ['$ curl h.test', 'GET'],
])('the method of %j is %s', (text, method) => {
  const made = tool(text)
  expect(made.method).toBe(method)
  expect(made.url).toMatch(/^https?:\/\/h\.test/)
})

test('data of -G, forms and --data-urlencode are arguments; a form says that JSON is sent', () => {
  expect(types(tool(`curl -G https://h.test -d q=x --data-urlencode 'lang=de ch'`))).toEqual({
    q: 'string',
    lang: 'string',
  })
  const form = tool('curl https://h.test -d "a=1&b=2"')
  expect(types(form)).toEqual({ a: 'string', b: 'string' })
  expect(form.notes).toEqual(['The command sends a form or text; a tool sends its arguments as JSON.'])
})

describe('a credential is a reference to a secret, and its value is nowhere', () => {
  test.each([
    [
      'a header',
      `-H 'Authorization: Bearer s3cr3t'`,
      { Authorization: 'Bearer {{secret:API_SHOP_TEST_AUTHORIZATION}}' },
    ],
    ['a header of a key', `-H 'X-Api-Key: s3cr3t'`, { 'X-Api-Key': '{{secret:API_SHOP_TEST_X_API_KEY}}' }],
    ['a header in one word', `-H'XAuthToken: s3cr3t'`, { XAuthToken: '{{secret:API_SHOP_TEST_XAUTHTOKEN}}' }],
    ['a user', '-u me:s3cr3t', { Authorization: 'Basic {{secret:API_SHOP_TEST_AUTHORIZATION}}' }],
    ['a cookie', `-b 'session=s3cr3t'`, { Cookie: '{{secret:API_SHOP_TEST_COOKIE}}' }],
    [
      'a bearer',
      '--oauth2-bearer s3cr3t',
      { Authorization: 'Bearer {{secret:API_SHOP_TEST_AUTHORIZATION}}' },
    ],
  ])('%s', (_name, option, headers) => {
    const made = tool(`curl https://api.shop.test/x ${option}`)
    expect(made.headers).toEqual(headers)
    expect(made.secrets).toHaveLength(1)
    expect(made.secrets[0]!.host).toBe('api.shop.test')
    expect(JSON.stringify(made)).not.toContain('s3cr3t')
  })

  test('in the URL, its query, a second URL and the body', () => {
    const made = tool(
      `curl 'https://me:s3cr3t@api.shop.test/x?access_token=s3cr3t&lang=de' 'https://h.test?apiKey=s3cr3t' -d '{"password":"s3cr3t"}'`,
    )
    expect(made.url).toBe(
      'https://api.shop.test/x?access_token={{secret:API_SHOP_TEST_ACCESS_TOKEN}}&lang=de',
    )
    expect(made.headers).toEqual({ Authorization: 'Basic {{secret:API_SHOP_TEST_AUTHORIZATION}}' })
    expect(types(made)).toEqual({ password: 'string' })
    expect(JSON.stringify(made)).not.toContain('s3cr3t')
  })
})

test('what a tool has no place for is named', () => {
  const { notes } = tool(
    `curl -sk --max-time 3 -o out.json -F a=@b --unheard-of https://h.test https://other.test -H 'Host: x' -H 'Content-Type: text/xml' -d @body.json -H "X: $NAME" | jq .`,
  )
  expect(notes).toEqual([
    'https://other.test is not used: a tool has one URL.',
    '-k is not used: certificates are always checked.',
    '--max-time is not used: the time limit is a field of the tool.',
    '-o is not used: it is left out.',
    '-F is not used: a tool sends JSON, not a form with files.',
    '--unheard-of is not used: it is left out.',
    '$NAME would be filled in by a shell: replace it.',
    'What follows the command is not used.',
    'The header Host is not used: Gatehouse sets it.',
    'The header Content-Type is not used: a tool sends its arguments as JSON.',
    'The command sends a form or text; a tool sends its arguments as JSON.',
    '-d @body.json is not used: it names a file.',
  ])
  expect(tool('curl -X BREW https://h.test').notes).toEqual([
    'A tool cannot use the method BREW: choose another one.',
  ])
})

test.each([
  ['wget https://h.test', 'This does not begin with "curl".'],
  ['curl -s', 'The command has no URL.'],
  ['', 'This does not begin with "curl".'],
  [`curl ${'x'.repeat(200_001)}`, 'The command is longer than 200,000 characters.'],
])('%j gives no tool, and why', (text, why) => {
  expect(toolOfCurl(text)).toEqual({ why })
})

test.each([`"\\`.repeat(50_000), '$('.repeat(90_000), `'a'`.repeat(60_000)])(
  'a long command of odd quotes is read within the time of a test',
  (text) => {
    const read = toolOfCurl(`curl ${text}`)
    expect('url' in read && read.rows).toEqual([])
  },
)
