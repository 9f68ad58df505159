import { expect, test } from 'vitest'
import { ConfigError, loadConfig } from '../src/config.ts'

test('an empty environment gives a configuration that works on an empty machine', () => {
  const config = loadConfig({})
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 4000,
    databaseUrl: null,
    demo: true,
    graphiql: true,
    role: 'all',
  })
  expect(Object.isFrozen(config)).toBe(true)
})

test('all mistakes are reported at once, by name and without values', () => {
  const env = {
    GATEHOUSE_PORT: 'hunter2',
    GATEHOUSE_SECRET_KEY: 'hunter2',
    DATABASE_URL: 'mysql://hunter2',
    GATEHOUSE_TYPO: 'hunter2',
    GATEHOUSE_ROLE: 'api',
  }
  const error = (() => {
    try {
      return void loadConfig(env)
    } catch (caught) {
      return caught as ConfigError
    }
  })()
  expect(error).toBeInstanceOf(ConfigError)
  for (const name of [
    'GATEHOUSE_PORT',
    'GATEHOUSE_SECRET_KEY',
    'DATABASE_URL',
    'GATEHOUSE_TYPO',
    'GATEHOUSE_ROLE',
  ])
    expect(error!.message).toContain(name)
  expect(error!.message).not.toContain('hunter2')
})

test('DATABASE_URL may name several servers', () => {
  const urls = [
    'postgres://gatehouse@db/gatehouse',
    'postgres://me:p%40ss@db1:5432,db2:5433/gatehouse?sslmode=require',
    'postgresql://db1,db2',
    'postgres://me@db1,db2/gatehouse?target_session_attrs=read-write&channel_binding=prefer&sslrootcert=system',
  ]
  for (const url of urls) expect(loadConfig({ DATABASE_URL: url }).databaseUrl).toBe(url)
  for (const url of ['postgres://', 'postgres://db1,/x', 'postgres://db:port/x', 'http://db1,db2/x'])
    expect(() => loadConfig({ DATABASE_URL: url })).toThrow(/DATABASE_URL.* must be postgres/)
})

test('DATABASE_URL and DIRECT_URL demand nothing that the driver would not hold', () => {
  for (const demand of ['channel_binding=require', 'sslcert=/a.pem', 'sslrootcert=/ca.pem']) {
    const url = `postgres://gatehouse@db/gatehouse?sslmode=require&${demand}`
    expect(() => loadConfig({ DATABASE_URL: url })).toThrow(
      /DATABASE_URL demands (channel|ssl).* sslmode=verify-full/,
    )
    expect(() => loadConfig({ DATABASE_URL: 'postgres://db', DIRECT_URL: url })).toThrow('DIRECT_URL demands')
  }
  expect(() => loadConfig({ DIRECT_URL: 'postgres://db' })).toThrow('DIRECT_URL requires DATABASE_URL')
})

test('production requires a secret key and turns demo and GraphiQL off', () => {
  expect(() => loadConfig({ NODE_ENV: 'production' })).toThrow('GATEHOUSE_SECRET_KEY')
  const key = Buffer.alloc(32, 1).toString('base64')
  expect(loadConfig({ NODE_ENV: 'production', GATEHOUSE_SECRET_KEY: key })).toMatchObject({
    demo: false,
    graphiql: false,
  })
})

test('trusted proxies and the address of metrics are validated when they are read', () => {
  expect(
    loadConfig({
      GATEHOUSE_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8,192.0.2.7',
      GATEHOUSE_METRICS_LISTEN: '[::1]:9464',
      GATEHOUSE_METRICS_TOKEN: 'scrape-0123456789abcdef',
      GATEHOUSE_ANONYMOUS_PER_MINUTE: '60',
      GATEHOUSE_COST_PER_MINUTE: '5000',
      GATEHOUSE_MAX_CONNECTIONS: '100',
      GATEHOUSE_MAX_ANSWER_BYTES: '65536',
    }),
  ).toMatchObject({
    trustedProxies: ['10.0.0.0/8', 'fd00::/8', '192.0.2.7'],
    metricsListen: { host: '::1', port: 9464 },
    metricsToken: 'scrape-0123456789abcdef',
    anonymousPerMinute: 60,
    costPerMinute: 5000,
    maxConnections: 100,
    maxAnswerBytes: 65536,
  })
  expect(loadConfig({})).toMatchObject({ trustedProxies: [], metricsListen: null, metricsToken: null })
  const faulty = {
    GATEHOUSE_TRUSTED_PROXIES: '10.0.0.0/40',
    GATEHOUSE_METRICS_LISTEN: 'localhost',
    GATEHOUSE_METRICS_TOKEN: 'short',
    GATEHOUSE_MAX_ANSWER_BYTES: '1',
  }
  for (const [name, value] of Object.entries(faulty))
    expect(() => loadConfig({ [name]: value }), name).toThrow(name)
})

test('with a base URL the OpenAI key goes to that server and nowhere else', () => {
  const { models } = loadConfig({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' })
  expect(models.openai.apiKey).toBeNull()
  expect(models.compatible).toEqual({ apiKey: 'k', baseUrl: 'http://127.0.0.1:11434/v1' })
})

const s3 = {
  GATEHOUSE_S3_BUCKET: 'files',
  GATEHOUSE_S3_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'hunter2',
}

test('a bucket is at AWS, or at an endpoint of its own, where browsers may see another address', () => {
  expect(loadConfig({}).s3).toBeNull()
  expect(loadConfig(s3).s3).toEqual({
    bucket: 'files',
    url: 'https://files.s3.eu-central-1.amazonaws.com',
    publicUrl: 'https://files.s3.eu-central-1.amazonaws.com',
    region: 'eu-central-1',
    accessKeyId: 'id',
    secretAccessKey: 'hunter2',
    sessionToken: null,
  })
  const own = { ...s3, GATEHOUSE_S3_ENDPOINT: 'http://store:9000/', AWS_SESSION_TOKEN: 't' }
  expect(loadConfig({ ...own, GATEHOUSE_S3_PUBLIC_ENDPOINT: 'https://files.example.com' }).s3).toMatchObject({
    url: 'http://store:9000/files',
    publicUrl: 'https://files.example.com/files',
    sessionToken: 't',
  })
  expect(loadConfig({ ...own, GATEHOUSE_S3_PATH_STYLE: 'false' }).s3?.url).toBe('http://files.store:9000')
})

test.each([
  [{ GATEHOUSE_S3_ENDPOINT: 'http://store' }, 'GATEHOUSE_S3_ENDPOINT require GATEHOUSE_S3_BUCKET'],
  [{ ...s3, AWS_SECRET_ACCESS_KEY: '' }, 'GATEHOUSE_S3_BUCKET requires AWS_SECRET_ACCESS_KEY'],
  [{ ...s3, GATEHOUSE_S3_REGION: '' }, 'GATEHOUSE_S3_BUCKET requires GATEHOUSE_S3_REGION'],
  [{ ...s3, GATEHOUSE_S3_BUCKET: 'a.b' }, 'requires GATEHOUSE_S3_PATH_STYLE=true'],
  [{ ...s3, GATEHOUSE_S3_BUCKET: 'No' }, 'GATEHOUSE_S3_BUCKET must be 3 to 63'],
  [{ ...s3, GATEHOUSE_S3_ENDPOINT: 'https://me:hunter2@store' }, 'GATEHOUSE_S3_ENDPOINT must have no user'],
])('settings of a bucket that do not fit are told by name: %#', (env, said) => {
  expect(() => loadConfig(env)).toThrow(said)
  expect(() => loadConfig(env)).not.toThrow('hunter2')
})
