/** A small, strict object store for tests: it speaks the part of S3 that files need, and takes nothing that is not signed. */
import { createHash } from 'node:crypto'
import { createServer, ServerResponse, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { S3Settings } from '../../src/store/blobs/s3/requests.ts'
import { judge, type S3Identity } from './s3-verdict.ts'

export interface StoredObject {
  bytes: Buffer
  contentType: string
  etag: string
}

/** What happens to a request instead of its answer; with `lost` it is done, and its answer does not arrive. */
export type S3Fault = number | 'cut' | 'hang' | 'cut-body' | 'lost'

export interface S3Server {
  url: string
  identity: S3Identity
  objects: Map<string, StoredObject>
  /** Method and key of each request that was taken, as `PUT s3_file_…`. */
  journal: string[]
  /** How its clock differs, in milliseconds. */
  skewMs: number
  /** Whether it says of a missing object that it is missing. */
  mayList: boolean
  /** The conditions of a request that it does not heed. */
  ignores: Set<'if-match'>
  /** Decides about each request. */
  fault: (request: IncomingMessage, key: string) => S3Fault | null | Promise<S3Fault | null>
  /** Writes beside its protocol, as someone with other access does. */
  replace(key: string, text: string): void
  settings(more?: Partial<S3Settings>): S3Settings
  close(): Promise<void>
}

const bucket = 'files-of-tests'
const etagOf = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`

export async function startS3Server(): Promise<S3Server> {
  const http = createServer((request, response) => {
    void answer(server, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const identity = {
    region: 'eu-central-1',
    accessKeyId: 'AKIATEST',
    secretAccessKey: 'secret/of+tests',
    sessionToken: null,
  }
  const server: S3Server = {
    url,
    identity,
    objects: new Map(),
    journal: [],
    skewMs: 0,
    mayList: true,
    ignores: new Set(),
    fault: () => null,
    replace(key, text) {
      const bytes = Buffer.from(text)
      server.objects.set(key, { ...server.objects.get(key)!, bytes, etag: etagOf(bytes) })
    },
    settings: (more = {}) => ({
      bucket,
      url: `${url}/${bucket}`,
      publicUrl: `${url}/${bucket}`,
      ...identity,
      ...more,
    }),
    async close() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
  return server
}

function refuse(request: IncomingMessage, response: ServerResponse, status: number, code: string) {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>of tests</Message></Error>`
  response.writeHead(status, { 'content-type': 'application/xml', connection: 'close' })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function answer(server: S3Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url!, server.url)
  const [, name, key = ''] = pathname.split('/')
  const fault = await server.fault(request, key)
  if (fault === 'cut') return void request.destroy()
  if (fault === 'hang') return
  if (typeof fault === 'number')
    return refuse(request, response, fault, fault === 503 ? 'SlowDown' : 'InternalError')
  const refusal = await judge(server.identity, request, Date.now() + server.skewMs)
  if (refusal) return refuse(request, response, refusal.status, refusal.code)
  if (name !== bucket) return refuse(request, response, 404, 'NoSuchBucket')
  server.journal.push(`${request.method} ${key}`)
  if (fault === 'lost') {
    await perform(server, request, new ServerResponse(request), key, false)
    return void request.socket.destroy()
  }
  return perform(server, request, response, key, fault === 'cut-body')
}

async function perform(
  server: S3Server,
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  cuts: boolean,
): Promise<void> {
  if (request.method === 'PUT') return put(server, request, response, key)
  if (request.method === 'DELETE') {
    server.objects.delete(key)
    return void response.writeHead(204).end()
  }
  return get(server, request, response, key, cuts)
}

async function put(server: S3Server, request: IncomingMessage, response: ServerResponse, key: string) {
  const { headers } = request
  const source = headers['x-amz-copy-source']
  if (source !== undefined) return copy(server, request, response, key, String(source))
  if (headers['content-length'] === undefined) return refuse(request, response, 411, 'MissingContentLength')
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const announced = headers['x-amz-content-sha256']
  if (announced !== undefined && announced !== createHash('sha256').update(bytes).digest('hex'))
    return refuse(request, response, 400, 'XAmzContentSHA256Mismatch')
  const contentType = headers['content-type'] ?? 'binary/octet-stream'
  const etag = etagOf(bytes)
  server.objects.set(key, { bytes, contentType, etag })
  response.writeHead(200, { etag }).end()
}

function copy(
  server: S3Server,
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  source: string,
) {
  const found = server.objects.get(decodeURIComponent(source).replace(`/${bucket}/`, ''))
  if (!found) return refuse(request, response, 404, 'NoSuchKey')
  if (request.headers['x-amz-copy-source-if-match'] !== found.etag)
    return refuse(request, response, 412, 'PreconditionFailed')
  server.objects.set(key, { ...found })
  response.writeHead(200, { 'content-type': 'application/xml' })
  response.end(`<CopyObjectResult><ETag>${found.etag}</ETag></CopyObjectResult>`)
}

function get(
  server: S3Server,
  request: IncomingMessage,
  response: ServerResponse,
  key: string,
  cuts: boolean,
) {
  const found = server.objects.get(key)
  if (!found)
    return server.mayList
      ? refuse(request, response, 404, 'NoSuchKey')
      : refuse(request, response, 403, 'AccessDenied')
  const wanted = request.headers['if-match']
  if (wanted !== undefined && wanted !== found.etag && !server.ignores.has('if-match'))
    return refuse(request, response, 412, 'PreconditionFailed')
  const asked = new URL(request.url!, server.url).searchParams
  response.writeHead(200, {
    'content-length': found.bytes.length,
    'content-type': asked.get('response-content-type') ?? found.contentType,
    etag: found.etag,
    ...(asked.has('response-content-disposition')
      ? { 'content-disposition': asked.get('response-content-disposition')! }
      : {}),
  })
  if (request.method === 'HEAD') return void response.end()
  if (!cuts) return void response.end(found.bytes)
  response.write(found.bytes.subarray(0, 1), () => response.destroy())
}
