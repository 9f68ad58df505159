/** Files over HTTP: upload and download by signed links, and presignUpload as a REST endpoint. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { isJsonObject, tryParseJson } from '../../core/json.ts'
import { asAppError, type Ctx, type Services } from '../../domain/access/index.ts'
import {
  openFile,
  presignUpload,
  readLink,
  receiveFile,
  type PresignUploadInput,
} from '../../domain/files/index.ts'
import { readText, sendJson, statusOf } from './json.ts'
import type { FileRoutes } from './server.ts'

const presignPath = '/api/v1/files/presign-upload'
const contentRoute = /^\/api\/v1\/files\/(file_[0-9a-z]{1,40})\/content$/

/** Authenticates and rate-limits callers of these routes. */
export interface FileCallers {
  /** The context of the caller that announces a file; throws UNAUTHENTICATED. */
  fileCaller(request: IncomingMessage): Promise<Ctx>
  /** Takes one request without a valid key or link from the limit; returns the milliseconds to wait, or 0. */
  takeAnonymous(request: IncomingMessage): number
}

export function makeFiles(services: Services, callers: FileCallers): FileRoutes {
  return {
    serves: (path) => path === presignPath || contentRoute.test(path),
    async serve(request, response) {
      try {
        await route(services, callers, request, response)
      } catch (error) {
        refuse(services, response, error)
      }
    },
  }
}

async function route(
  services: Services,
  callers: FileCallers,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://gatehouse.invalid')
  const id = contentRoute.exec(url.pathname)?.[1]
  if (!id && request.method === 'POST') return presign(await callers.fileCaller(request), request, response)
  if (id && request.method === 'PUT') return upload(services, callers, id, url, request, response)
  if (id && (request.method === 'GET' || request.method === 'HEAD'))
    return download(services, callers, id, url, request, response)
  sendJson(
    response,
    405,
    { error: { code: 'INVALID', message: 'Method not allowed.' } },
    { allow: id ? 'PUT, GET, HEAD' : 'POST' },
  )
}

/**
 * Takes `{filename, content_type, size?, project_id?, agent_id?}`; returns `{file_id, upload_url, method, headers,
 * expires_at}`.
 */
async function presign(ctx: Ctx, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw invalidAt(['content-type'], 'must be application/json')
  const body = tryParseJson(await readText(request))
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be a JSON object')
  const { filename, content_type: contentType, size, project_id: projectId, agent_id: agentId } = body
  const { file, uploadUrl } = await presignUpload(ctx, {
    filename,
    contentType,
    size,
    projectId,
    agentId,
    // The operation validates every field.
  } as PresignUploadInput)
  sendJson(response, 201, {
    file_id: file.id,
    upload_url: uploadUrl,
    method: 'PUT',
    headers: { 'content-type': file.contentType },
    expires_at: file.uploadUntil.toISOString(),
  })
}

async function upload(
  services: Services,
  callers: FileCallers,
  id: string,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  assertLink(services, callers, request, 'PUT', id, url)
  if (Number(request.headers['content-length'] ?? 0) > services.limits.maxFileBytes)
    throw new AppError('LIMITED', `A file may have at most ${services.limits.maxFileBytes} bytes.`)
  const file = await receiveFile(services, id, request.headers['content-type'] ?? null, request)
  sendJson(response, 201, { file_id: file.id, size: file.size, sha256: file.sha256 })
}

async function download(
  services: Services,
  callers: FileCallers,
  id: string,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  assertLink(services, callers, request, 'GET', id, url)
  const found = await openFile(services, id)
  if (!found) throw notFound('file', id)
  response.writeHead(200, {
    'content-type': found.file.contentType,
    'content-length': found.size,
    // A browser must never render untrusted content on the origin of this server.
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(found.file.filename)}`,
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
  })
  if (request.method === 'HEAD') {
    found.stream.destroy()
    return void response.end()
  }
  // Fails when the client closes the connection; then no response can be sent.
  await pipeline(found.stream, response).catch(() => response.destroy())
}

function assertLink(
  services: Services,
  { takeAnonymous }: FileCallers,
  request: IncomingMessage,
  method: 'PUT' | 'GET',
  id: string,
  url: URL,
): void {
  const until = readLink(services.masterKey, method, id, url.searchParams)
  const retryAfterMs = until === null ? takeAnonymous(request) : 0
  if (retryAfterMs > 0)
    throw new AppError(
      'LIMITED',
      'Too many requests with invalid links from this address. Try again later.',
      {
        retryAfterMs,
      },
    )
  if (until === null)
    throw new AppError('FORBIDDEN', 'The link has no valid signature for this method and file.')
  if (until <= services.clock.now()) throw new AppError('EXPIRED', 'The link has expired. Request a new one.')
}

function refuse(services: Services, response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const known = asAppError(error)
  if (!known) {
    services.log.error({ err: error }, 'a file could not be served')
    return sendJson(
      response,
      500,
      { error: { code: 'INTERNAL', message: 'Unexpected error.' } },
      { connection: 'close' },
    )
  }
  const { retryAfterMs } = known.details
  const headers = {
    // The rest of the body is not read.
    connection: 'close',
    ...(known.code === 'UNAUTHENTICATED' ? { 'www-authenticate': 'Bearer' } : {}),
    ...(retryAfterMs ? { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } : {}),
  }
  sendJson(response, statusOf(known), { error: { code: known.code, message: known.message } }, headers)
}
