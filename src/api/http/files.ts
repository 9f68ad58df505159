/** Files over HTTP: upload and download by signed links, and presignUpload as a REST endpoint. */
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { attachmentNamed } from '../../core/content.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { isJsonObject, tryParseJson } from '../../core/json.ts'
import type { Ctx, InputOf, Services } from '../../domain/access/index.ts'
import { openDownload, presignUpload, readLink, receiveFile } from '../../domain/files/index.ts'
import { readText } from './bodies.ts'
import { sendJson } from './replies.ts'
import { openRoutes, type OpenCall, type OpenRoute, type RouteGroup } from './route.ts'

const contentPath = '/api/v1/files/{id}/content'

/** Authenticates and rate-limits callers of these routes. */
export interface FileCallers {
  /** The context of the caller that announces a file; throws UNAUTHENTICATED. */
  fileCaller(request: IncomingMessage): Promise<Ctx>
  /** Takes one request without a valid key or link from the limit; returns the milliseconds to wait, or 0. */
  takeAnonymous(request: IncomingMessage): number
}

export function makeFiles(services: Services, callers: FileCallers): RouteGroup {
  const routes: OpenRoute[] = [
    {
      method: 'POST',
      path: '/api/v1/files/presign-upload',
      run: async (call) => presign(await callers.fileCaller(call.request), call),
    },
    { method: 'PUT', path: contentPath, run: (call) => upload(services, callers, call) },
    { method: 'GET', path: contentPath, head: true, run: (call) => download(services, callers, call) },
  ]
  const errorBody = ({ code, message }: AppError) => ({ error: { code, message } })
  return openRoutes(services.log, { routes, errorBody })
}

/**
 * Takes `{filename, content_type, size?, project_id?, agent_id?}`; returns `{file_id, upload_url, method, headers,
 * expires_at}`.
 */
async function presign(ctx: Ctx, { request, response }: OpenCall): Promise<void> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw invalidAt(['content-type'], 'must be application/json')
  const body = tryParseJson(await readText(request, response))
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be a JSON object')
  const { filename, content_type: contentType, size, project_id: projectId, agent_id: agentId } = body
  const { file, uploadUrl } = await presignUpload(ctx, {
    filename,
    contentType,
    size,
    projectId,
    agentId,
    // The operation validates every field.
  } as InputOf<typeof presignUpload>)
  sendJson(response, 201, {
    file_id: file.id,
    upload_url: uploadUrl,
    method: 'PUT',
    headers: { 'content-type': file.contentType },
    expires_at: file.uploadUntil.toISOString(),
  })
}

async function upload(services: Services, callers: FileCallers, call: OpenCall): Promise<void> {
  const { request, response } = call
  const { id } = assertLink(services, callers, 'PUT', call)
  if (Number(request.headers['content-length'] ?? 0) > services.limits.maxFileBytes)
    throw new AppError('LIMITED', `A file may have at most ${services.limits.maxFileBytes} bytes.`)
  const file = await receiveFile(services, id, request.headers['content-type'] ?? null, request)
  sendJson(response, 201, { file_id: file.id, size: file.size, sha256: file.sha256 })
}

async function download(services: Services, callers: FileCallers, call: OpenCall): Promise<void> {
  const { request, response } = call
  const { id, until } = assertLink(services, callers, 'GET', call)
  const found = await openDownload(services, id, until)
  if (!found) throw notFound('file', id)
  if ('location' in found && request.method !== 'HEAD') {
    // Named by the link as long as it is valid: nothing on the way may remember where it leads.
    response.writeHead(307, { location: found.location, 'cache-control': 'private, no-store' })
    return void response.end()
  }
  response.writeHead(200, {
    'content-type': found.file.contentType,
    'content-length': found.size,
    // A browser must never render untrusted content on the origin of this server.
    'content-disposition': attachmentNamed(found.file.filename),
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
  })
  if ('location' in found) return void response.end()
  if (request.method === 'HEAD') {
    found.stream.destroy()
    return void response.end()
  }
  // Fails when the client closes the connection; then no response can be sent.
  await pipeline(found.stream, response).catch(() => response.destroy())
}

/** The id of the file to which the link leads, and until when, in milliseconds since 1970. */
function assertLink(
  services: Services,
  { takeAnonymous }: FileCallers,
  method: 'PUT' | 'GET',
  { request, params, url }: OpenCall,
): { id: string; until: number } {
  const id = params['id']!
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
  return { id, until }
}
