/** OpenAPI documents as tools: what each operation becomes, and why some become none. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apiOf, type Api } from '../../web/src/screens/tools/import/openapi.ts'
import { toolOfOperation, type ToolOfOperation } from '../../web/src/screens/tools/import/openapi-tool.ts'

function api(document: object): Api {
  const read = apiOf(JSON.stringify({ openapi: '3.1.0', info: { title: 'Shop' }, ...document }))
  if ('why' in read) throw new Error(read.why)
  return read
}
const choices = { base: 'https://h.test/v1', secret: '', asksFirst: false }
/** The tool of the only operation. */
function only(paths: object, more: object = {}, chosen: Partial<typeof choices> = {}): ToolOfOperation {
  const read = api({ paths, ...more })
  const made = toolOfOperation(read, read.operations[0]!, { ...choices, ...chosen })
  if ('why' in made) throw new Error(made.why)
  return made
}
const httpOf = ({ input }: ToolOfOperation) => (input.config as { http: Record<string, any> }).http
const whyOf = (paths: object, more: object = {}) => {
  const read = api({ paths, ...more })
  const made = toolOfOperation(read, read.operations[0]!, choices)
  return 'why' in made ? made.why : null
}
const json = (schema: object, more: object = {}) => ({ content: { 'application/json': { schema } }, ...more })

describe('a document', () => {
  test.each([
    ['openapi: 3.1.0\npaths: {}', 'This is YAML; only JSON is read. Convert it to JSON first.'],
    ['{', 'This is not JSON'],
    ['[]', 'The document is not a JSON object.'],
    ['{"swagger":"2.0"}', 'This is Swagger 2.0: convert it to OpenAPI 3 first.'],
    ['{"openapi":"4.0.0","paths":{}}', 'This is no OpenAPI document of version 3.0 or 3.1.'],
    ['{"openapi":"3.0.3"}', 'The document has no paths.'],
    ['{"openapi":"3.0.3","paths":{"/a":{"trace":{}}}}', 'has no operations that a tool can be made of'],
  ])('%j is refused with a sentence', (text, why) => {
    expect(apiOf(text)).toEqual({ why: expect.stringContaining(why) })
  })

  test('gives each operation a name that a tool may have, and no other one has', () => {
    const { operations } = api({
      paths: {
        '/pets/{id}': { get: { operationId: 'pets/get-one' }, delete: {} },
        '/dogs': { get: { operationId: 'pets get-one' }, put: { operationId: '42' } },
        '/long': { get: { operationId: 'x'.repeat(90) }, put: { operationId: 'x'.repeat(80) } },
      },
    })
    expect(operations.map(({ name }) => name)).toEqual([
      'pets_get-one',
      'delete_pets_id',
      'pets_get-one_2',
      '_42',
      'x'.repeat(64),
      `${'x'.repeat(62)}_2`,
    ])
  })

  test('has the first address, with the defaults of its variables; a relative one is asked for', () => {
    const paths = { '/a': { get: {} } }
    const variables = { region: { default: 'eu' } }
    expect(api({ paths, servers: [{ url: 'https://{region}.h.test/v1/', variables }] }).server).toBe(
      'https://eu.h.test/v1',
    )
    expect(api({ paths, servers: [{ url: '/v2' }] })).toMatchObject({ server: null, serverPath: '/v2' })
    expect(api({ paths })).toMatchObject({ server: null, serverPath: '' })
    const own = api({ paths: { '/a': { get: { servers: [{ url: 'https://files.test' }] } } } })
    expect(httpOf(toolOfOperation(own, own.operations[0]!, choices) as ToolOfOperation)['url']).toBe(
      'https://files.test/a',
    )
  })

  test('of our own REST API is read whole', () => {
    const read = apiOf(readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8'))
    if ('why' in read) throw new Error(read.why)
    expect(read.operations.length).toBeGreaterThan(30)
    const made = read.operations.map((one) => toolOfOperation(read, one, choices))
    expect(made.filter((one) => 'input' in one).length).toBeGreaterThan(30)
  })

  test('of a thousand operations over the same deep schemas is a list at once, and its tools are made one by one', () => {
    const node = (n: number) => ({
      type: 'object',
      properties: { next: { $ref: `#/components/schemas/N${n + 1}` } },
    })
    const schemas = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`N${n}`, n === 29 ? { type: 'string' } : node(n)]),
    )
    const post = { requestBody: json({ $ref: '#/components/schemas/N0' }) }
    const paths = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`/p${n}`, { post }]))
    const read = api({ paths, components: { schemas } })
    expect(read.operations).toHaveLength(1000)
    // Nothing is written out before a tool is made.
    expect(read.operations[999]!.raw).toBe((read.root['paths'] as Record<string, any>)['/p999'].post)
    expect(toolOfOperation(read, read.operations[999]!, choices)).toHaveProperty('input')
  })
})

describe('an operation', () => {
  test('becomes one schema of path, query and body, with references written out', () => {
    const made = only(
      {
        '/orders/{orderId}/refunds': {
          parameters: [{ $ref: '#/components/parameters/Order' }],
          post: {
            operationId: 'refund',
            summary: 'Refund an order',
            description: 'Pays money back.',
            parameters: [
              { name: 'dry', in: 'query', required: true, schema: { type: 'boolean' } },
              { name: 'lang', in: 'query', schema: { type: 'string' } },
              { name: 'X-Trace', in: 'header', required: true, schema: { type: 'string' } },
            ],
            requestBody: json({ $ref: '#/components/schemas/Refund' }, { required: true }),
          },
        },
      },
      {
        components: {
          parameters: {
            Order: {
              name: 'orderId',
              in: 'path',
              required: true,
              description: 'Which.',
              schema: { type: 'string' },
            },
          },
          schemas: {
            Refund: {
              type: 'object',
              required: ['amount', 'id'],
              properties: {
                id: { type: 'string', readOnly: true },
                amount: { $ref: '#/components/schemas/Money' },
              },
            },
            Money: { type: 'number', minimum: 0, example: 3, 'x-unit': 'CHF' },
          },
        },
      },
    )
    expect(made.input).toMatchObject({
      name: 'refund',
      title: 'Refund an order',
      description: 'Pays money back.',
      annotations: { readOnlyHint: false },
    })
    expect(httpOf(made)).toEqual({
      method: 'POST',
      url: 'https://h.test/v1/orders/{orderId}/refunds?dry={dry}{&lang}',
      headers: {},
      inputSchema: {
        type: 'object',
        properties: {
          amount: { type: 'number', minimum: 0 },
          orderId: { type: 'string', description: 'Which.' },
          dry: { type: 'boolean' },
          lang: { type: 'string' },
        },
        required: ['orderId', 'dry', 'amount'],
      },
    })
    expect(made.notes).toEqual([
      'The header X-Trace is not imported: a tool sends the same headers with each call. Set it under Headers.',
    ])
  })

  test('that sends a body has its optional query parameters at the end of the URL, behind a secret', () => {
    const query = (name: string) => ({ name, in: 'query', schema: { type: 'string' } })
    const paths = { '/a': { post: { parameters: [query('x'), query('y'), query('odd{name}')] } } }
    const scheme = { components: { securitySchemes: { it: { type: 'apiKey', in: 'query', name: 'key' } } } }
    const made = only(paths)
    expect(httpOf(made)).toMatchObject({ url: 'https://h.test/v1/a{?x,y}', inputSchema: { required: [] } })
    expect(made.notes).toEqual(['The query parameter odd{name} is not imported: a URL cannot have its name.'])
    expect(httpOf(only(paths, scheme, { secret: 'KEY' }))['url']).toBe(
      'https://h.test/v1/a?key={{secret:KEY}}{&x,y}',
    )
  })

  test('has the headers that can only be sent in one way, and names the others', () => {
    const header = (name: string, schema: object, more: object = {}) => ({
      name,
      in: 'header',
      schema,
      ...more,
    })
    const parameters = [
      header('X-Version', { const: '2024-05' }),
      header('X-Kind', { type: 'string', enum: ['shop'] }),
      header('X-Pages', { type: 'integer', default: 5 }, { required: true }),
      header('X-Optional', { default: 'a' }),
      header('X-Several', { enum: ['a', 'b'] }, { required: true }),
      header('X-Odd', { const: 'two\nlines' }),
      header('Authorization', { type: 'string' }),
      header('x-key', { type: 'string' }, { required: true }),
      { name: 'sid', in: 'cookie', schema: { const: '1' } },
    ]
    const components = { securitySchemes: { it: { type: 'apiKey', in: 'header', name: 'X-Key' } } }
    const made = only({ '/a': { get: { parameters } } }, { components }, { secret: 'KEY' })
    expect(httpOf(made)['headers']).toEqual({
      'X-Version': '2024-05',
      'X-Kind': 'shop',
      'X-Pages': '5',
      'X-Key': '{{secret:KEY}}',
    })
    expect(httpOf(made)['inputSchema'].properties).toEqual({})
    expect(made.notes).toEqual([
      'The header X-Version is always 2024-05.',
      'The header X-Kind is always shop.',
      'The header X-Pages is always 5.',
      ...['header X-Optional', 'header X-Several', 'header X-Odd', 'cookie sid'].map(
        (what) =>
          `The ${what} is not imported: a tool sends the same headers with each call. Set it under Headers.`,
      ),
    ])
  })

  test('of 3.0 says nullable values and exclusive limits as JSON Schema does', () => {
    const body = json({
      properties: {
        a: { type: 'string', nullable: true, enum: ['x'] },
        b: { type: 'number', minimum: 1, exclusiveMinimum: true },
      },
    })
    const made = only({ '/a': { put: { requestBody: body } } }, { openapi: '3.0.3' })
    expect(httpOf(made)['inputSchema'].properties).toEqual({
      a: { type: ['string', 'null'], enum: ['x', null] },
      b: { type: 'number', exclusiveMinimum: 1 },
    })
  })

  test('whose property is called like a keyword keeps it, and its parts become one', () => {
    const part = {
      type: 'object',
      properties: { example: { type: 'string' }, nullable: { type: 'boolean' } },
      required: ['example'],
    }
    const body = json({ allOf: [part, { properties: { 'x-a': { type: 'string' } } }] }, { required: true })
    expect(httpOf(only({ '/a': { post: { requestBody: body } } }))['inputSchema']).toEqual({
      type: 'object',
      properties: { example: { type: 'string' }, nullable: { type: 'boolean' }, 'x-a': { type: 'string' } },
      required: ['example'],
    })
  })

  test('signs in with the secret that was named, in a header or the query', () => {
    const paths = { '/a': { get: { parameters: [{ name: 'q', in: 'query', schema: { type: 'string' } }] } } }
    const login = (scheme: object) =>
      httpOf(only(paths, { components: { securitySchemes: { it: scheme } } }, { secret: 'KEY' }))
    expect(login({ type: 'http', scheme: 'bearer' })['headers']).toEqual({
      Authorization: 'Bearer {{secret:KEY}}',
    })
    expect(login({ type: 'apiKey', in: 'header', name: 'X-Key' })['headers']).toEqual({
      'X-Key': '{{secret:KEY}}',
    })
    expect(login({ type: 'apiKey', in: 'query', name: 'key' })['url']).toBe(
      'https://h.test/v1/a?key={{secret:KEY}}',
    )
    expect(httpOf(only(paths, {}, { secret: '' }))['headers']).toEqual({})
  })

  test('that a person decides about has a gate, and one that deletes says so', () => {
    expect(only({ '/a': { delete: {} } }, {}, { asksFirst: true }).input).toMatchObject({
      gate: { mode: 'ALWAYS' },
      annotations: { destructiveHint: true },
    })
    expect(only({ '/a': { get: {} } }).input).toMatchObject({ annotations: { readOnlyHint: true } })
    expect(only({ '/a': { get: {} } }).input).not.toHaveProperty('gate')
  })

  test.each([
    [
      'a schema of another document',
      { $ref: 'https://x.test/s.json#/A' },
      'It refers to another document, https://x.test/s.json#/A: put that into this one first.',
    ],
    ['a schema of another file', { $ref: './s.json' }, 'It refers to another document, ./s.json'],
    [
      'a schema that refers to itself',
      { $ref: '#/components/schemas/Node' },
      'The schema Node refers to itself.',
    ],
    ['a schema that is not there', { $ref: '#/components/schemas/None' }, 'leads nowhere'],
    ['a list', { type: 'array', items: {} }, 'Its body is no object, so that it has no arguments by name.'],
    [
      'schemas that double at each level',
      { $ref: '#/components/schemas/D0' },
      'Its schemas have more than 8,000 values when written out.',
    ],
  ])('whose body is %s is refused with a sentence', (_name, schema, why) => {
    const doubles = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => {
        const next = { $ref: `#/components/schemas/D${n + 1}` }
        return [`D${n}`, n === 29 ? { type: 'string' } : { type: 'object', properties: { a: next, b: next } }]
      }),
    )
    const schemas = {
      ...doubles,
      Node: {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Node' } } },
      },
    }
    expect(whyOf({ '/a': { post: { requestBody: json(schema) } } }, { components: { schemas } })).toContain(
      why,
    )
  })

  test('that is deep in itself, or sends a form, is refused with a sentence', () => {
    let deep: object = { type: 'string' }
    for (let n = 0; n < 200; n++) deep = { type: 'object', properties: { a: deep } }
    expect(whyOf({ '/a': { post: { requestBody: json(deep) } } })).toBe('Its schemas are more than 100 deep.')
    const form = { content: { 'multipart/form-data': { schema: {} } } }
    expect(whyOf({ '/a': { post: { requestBody: form } } })).toBe(
      'Its body is multipart/form-data; a tool sends JSON.',
    )
  })
})
