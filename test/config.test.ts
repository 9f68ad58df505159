import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
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

test('DIRECT_URL is of the same form as DATABASE_URL, which it requires', () => {
  expect(() => loadConfig({ DATABASE_URL: 'postgres://db', DIRECT_URL: 'postgres://db:x/y' })).toThrow(
    'DIRECT_URL names a host or port that is none',
  )
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

test('an address of Redis has behind its host the number of a database alone', () => {
  for (const value of ['redis://redis', 'rediss://:p@redis:6380/', 'redis://redis/15', 'redis:///3'])
    expect(loadConfig({ REDIS_URL: value }).redisUrl).toBe(value)
  for (const value of ['redis://redis/cache', 'redis://redis/0/1', 'redis://redis/-1', 'redis://redis/1.5'])
    expect(() => loadConfig({ REDIS_URL: value })).toThrow(
      'REDIS_URL has something behind the host that is no number of a database',
    )
  // Railway writes it.
  expect(loadConfig({ REDIS_URL: 'redis://redis?family=0' }).redisUrl).toBe('redis://redis?family=0')
  // What the client would throw on, take for the end of the address, or for options of its own
  for (const [value, part] of [
    ['redis://:p%ss@redis', '"%"'],
    ['redis://:p%ff@redis', '"%"'],
    ['redis://u#p@redis', '"#"'],
    ['redis://one,two', 'several servers'],
    ['redis://redis?tls=true', 'parameters'],
    ['redis://redis?host=other', 'parameters'],
    ['redis://redis/0?keyPrefix=x&enableOfflineQueue=true', 'parameters'],
  ] as const)
    expect(() => loadConfig({ REDIS_URL: value }), value).toThrow(part)
  for (const value of ['redis', 'http://redis', 'redis//', 'redis://:p/ss@redis', 'redis://a:1,b:2'])
    expect(() => loadConfig({ REDIS_URL: value })).toThrow('REDIS_URL must be a URL beginning with redis://')
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

test('settings may stand in files, and the port may be that of a platform', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const key = Buffer.alloc(32, 1)
  const env = {
    DATABASE_URL_FILE: file('url', 'postgres://db/app\n'),
    GATEHOUSE_SECRET_KEY_FILE: file('key', key.toString('base64')),
    ANTHROPIC_API_KEY_FILE: file('anthropic', 'sk-1\r\n'),
    PORT: '8080',
  }
  const config = loadConfig(env)
  expect(config).toMatchObject({ databaseUrl: 'postgres://db/app', secretKey: key, port: 8080 })
  expect(config.models.anthropic.apiKey).toBe('sk-1')
  expect(loadConfig({ ...env, GATEHOUSE_PORT: '1' }).port).toBe(1)
  expect(() => loadConfig({ PORT: 'x' })).toThrow('- PORT must be a whole number')
  expect(() => loadConfig({ DATABASE_URL_FILE: file('bad', 'mysql://hunter2') })).toThrow(
    '- DATABASE_URL_FILE must be postgres',
  )
  expect(() => loadConfig({ REDIS_URL_FILE: '/nowhere' })).toThrow(
    'REDIS_URL_FILE names a file that cannot be read (ENOENT)',
  )
  expect(() => loadConfig({ ...env, DATABASE_URL: 'postgres://db' })).toThrow(
    'DATABASE_URL and DATABASE_URL_FILE are both set',
  )
})

test('values are taken as files, editors and platforms write them, or refused by name', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = (content: string) => {
    writeFileSync(join(folder, 'value'), content)
    return join(folder, 'value')
  }
  const url = 'postgres://db/app'
  for (const written of [`${url}\r`, ` ${url} `, `${url}\n\n`, `\ufeff${url}\r\n`, `${url}\t`]) {
    expect(loadConfig({ DATABASE_URL: written }).databaseUrl).toBe(url)
    expect(loadConfig({ DATABASE_URL_FILE: ` ${file(written)}\r` }).databaseUrl).toBe(url)
  }
  expect(loadConfig({ GATEHOUSE_PORT: ' 1 ', REDIS_URL: '  ' })).toMatchObject({ port: 1, redisUrl: null })
  expect(loadConfig({ PORT: ' 1\r' }).port).toBe(1)
  expect(loadConfig({ PORT: ' ' }).port).toBe(4000)
  expect(() => loadConfig({ PORT: '"1"' })).toThrow('PORT is in quotation marks')
  // A PORT that does not count may be anything.
  expect(loadConfig({ GATEHOUSE_PORT: '1', PORT: '"x"' }).port).toBe(1)
  for (const mark of ['"', "'", '`'])
    for (const env of [
      { DATABASE_URL: `${mark}${url}${mark}` },
      { OPENAI_API_KEY: `${mark}sk-1${mark}` },
      { DATABASE_URL_FILE: `${mark}/run/url${mark}` },
    ])
      expect(() => loadConfig(env)).toThrow(`${Object.keys(env)[0]} is in quotation marks`)
  for (const content of ['', '\n', ' \r\n'])
    expect(() => loadConfig({ DATABASE_URL_FILE: file(content) })).toThrow(
      'DATABASE_URL_FILE names a file that is empty',
    )
  for (const word of ['true', 'TRUE', 'True', '1', 'yes', 'on'])
    expect(loadConfig({ GATEHOUSE_DEMO: word }).demo, word).toBe(true)
  for (const word of ['false', 'False', '0', 'NO', 'off'])
    expect(loadConfig({ GATEHOUSE_DEMO: word }).demo, word).toBe(false)
  expect(() => loadConfig({ GATEHOUSE_DEMO: 'maybe' })).toThrow('GATEHOUSE_DEMO must be true or false')
  expect(() => loadConfig({ GATEHOUSE_ROLE: 'web' })).toThrow('must be one of all, api, worker')
})

test('production is not missed by how it is written', () => {
  const GATEHOUSE_SECRET_KEY = Buffer.alloc(32, 1).toString('base64')
  for (const word of ['production', 'Production', 'PRODUCTION\r', ' production '])
    expect(loadConfig({ NODE_ENV: word, GATEHOUSE_SECRET_KEY })).toMatchObject({
      production: true,
      demo: false,
    })
  for (const word of ['prod', '"production"', 'prodution', 'Prod'])
    expect(() => loadConfig({ NODE_ENV: word, GATEHOUSE_SECRET_KEY })).toThrow('NODE_ENV is not "production"')
  for (const word of ['', 'development', 'test', 'staging'])
    expect(loadConfig({ NODE_ENV: word }).production, word).toBe(false)
})

test('hosts are names or addresses alone, and one that could never match is refused', () => {
  const hosts = (value: string) => loadConfig({ GATEHOUSE_ALLOWED_HOSTS: value }).allowedHosts
  expect(hosts('Gate.Example, münchen.example,*')).toEqual(['gate.example', 'xn--mnchen-3ya.example', '*'])
  for (const value of ['https://gate.example', 'gate.example:443', '*.example', '.example', 'a/b'])
    expect(() => hosts(value), value).toThrow('GATEHOUSE_ALLOWED_HOSTS must be names of hosts')
  for (const value of ['0.0.0.0', '::', 'fe80::1%eth0', 'localhost'])
    expect(loadConfig({ GATEHOUSE_HOST: value }).host).toBe(value)
  expect(loadConfig({ GATEHOUSE_HOST: '[::]' }).host).toBe('::')
  for (const value of ['0.0.0.0:4000', 'http://0.0.0.0', '*'])
    expect(() => loadConfig({ GATEHOUSE_HOST: value }), value).toThrow('GATEHOUSE_HOST must be an address')
  const pairs = '127.0.0.1:80,[::1]:80,ollama:11434'
  expect(loadConfig({ GATEHOUSE_EGRESS_ALLOW: pairs }).egressAllow).toHaveLength(3)
  for (const value of ['ollama', 'http://ollama:80', '::1:80', 'ollama:99999', '*:80'])
    expect(() => loadConfig({ GATEHOUSE_EGRESS_ALLOW: value }), value).toThrow('must be host:port pairs')
  for (const name of ['GATEHOUSE_CORS_ORIGINS', 'GATEHOUSE_PUBLIC_URL'])
    expect(() => loadConfig({ [name]: 'https://*.example' })).toThrow(`${name} has a "*"`)
})

test('the public URL and the origins of browsers are origins', () => {
  const config = loadConfig({
    GATEHOUSE_PUBLIC_URL: 'https://Gate.Example:443/',
    GATEHOUSE_CORS_ORIGINS: 'https://a.example/, http://b.example:80',
  })
  expect(config.publicUrl).toBe('https://gate.example')
  expect(config.corsOrigins).toEqual(['https://a.example', 'http://b.example'])
  for (const GATEHOUSE_PUBLIC_URL of [
    'https://gate.example/tools',
    'https://gate.example?x',
    'https://u@gate.example',
  ])
    expect(() => loadConfig({ GATEHOUSE_PUBLIC_URL })).toThrow(
      /GATEHOUSE_PUBLIC_URL must be an origin.* a path is not served/,
    )
  expect(() => loadConfig({ GATEHOUSE_CORS_ORIGINS: 'https://a.example,*' })).toThrow(
    'GATEHOUSE_CORS_ORIGINS',
  )
})

test('what Kubernetes adds for Services is no setting, and a name that is nearly one says which', () => {
  const pod = {
    GATEHOUSE_SERVICE_HOST: '10.96.0.7',
    GATEHOUSE_SERVICE_PORT: '80',
    GATEHOUSE_SERVICE_PORT_HTTP: '80',
    GATEHOUSE_PORT: 'tcp://10.96.0.7:80',
    GATEHOUSE_PORT_80_TCP: 'tcp://10.96.0.7:80',
    GATEHOUSE_PORT_80_TCP_PROTO: 'tcp',
    GATEHOUSE_PORT_80_TCP_PORT: '80',
    GATEHOUSE_PORT_80_TCP_ADDR: '10.96.0.7',
    GATEHOUSE_METRICS_SERVICE_HOST: '10.96.0.8',
    GATEHOUSE_METRICS_PORT: 'tcp://10.96.0.8:9464',
  }
  expect(loadConfig(pod).port).toBe(4000)
  expect(() => loadConfig({ GATEHOUSE_PUBLIC_URI: 'x' })).toThrow('did you mean GATEHOUSE_PUBLIC_URL?')
  expect(() => loadConfig({ GATEHOUSE_NOTHING_LIKE_IT: 'x' })).toThrow(
    'GATEHOUSE_NOTHING_LIKE_IT is unknown (see docs/guides/configuration.md)',
  )
})

test('issuers that exchange sign-ins are URLs, beside an identity provider', () => {
  const issuers = (value: string, more: object = { GATEHOUSE_OIDC_ISSUER: 'https://id.test' }) =>
    loadConfig({ GATEHOUSE_OIDC_EXCHANGE_ISSUERS: value, ...more }).oidc?.exchangeIssuers
  expect(issuers('https://a.test/realm, http://127.0.0.1:1')).toEqual([
    'https://a.test/realm',
    'http://127.0.0.1:1',
  ])
  for (const value of ['a.test', 'https://a.test,b', 'ftp://a.test', '*'])
    expect(() => issuers(value), value).toThrow('GATEHOUSE_OIDC_EXCHANGE_ISSUERS must be URLs')
  expect(() => issuers('https://a.test', {})).toThrow('require GATEHOUSE_OIDC_ISSUER')
})
