/** Tests a configuration before it is saved. Writes nothing. */
import { newId } from '../../core/ids.ts'
import type { Services } from '../access/index.ts'
import { authFor } from './oauth/auth.ts'
import { emptyCatalog } from './catalog/catalog.ts'
import type { UpstreamConfig } from './config.ts'
import { discoverOver } from './catalog/discover.ts'
import { faultOf } from './fault.ts'
import { openLink } from './wire/link.ts'
import type { Era, UpstreamStatus, UpstreamTransport } from './state.ts'
import { targetOf } from './target.ts'
import { memoryTokenStore } from './oauth/tokens.ts'

interface Trial {
  ok: boolean
  status: UpstreamStatus
  era: Era | null
  transport: UpstreamTransport | null
  server: { name: string; version: string } | null
  /** Names of the server's tools, sorted; at most 1000. */
  tools: string[]
  error: { code: string; message: string } | null
}

/** Limit for the whole trial, in milliseconds. */
const trialMs = 20_000

/** Connects, lists and closes. A failure of the server is returned, not thrown; tokens it requires are not stored. */
export async function tryConfig(
  services: Services,
  projectId: string,
  config: UpstreamConfig,
): Promise<Trial> {
  const limit = AbortSignal.timeout(trialMs)
  const nothing = { era: null, transport: null, server: null, tools: [] }
  try {
    const target = await targetOf(services, projectId, config)
    const auth = authFor(services, { id: newId('tool'), projectId, config }, target, memoryTokenStore())
    const link = await openLink(services, target, { protocol: null, auth, timeoutMs: trialMs, signal: limit })
    try {
      const { catalog } = await discoverOver(link, emptyCatalog, projectId, limit)
      const { era, transport } = link
      const tools = catalog.tools.map((tool) => tool.name)
      return { ok: true, status: 'CONNECTED', era, transport, server: catalog.server, tools, error: null }
    } finally {
      await link.close()
    }
  } catch (error) {
    const { code, message } = faultOf(error)
    const status = /^(authorization|issuer)_/.test(code) ? 'AUTHORIZATION_REQUIRED' : 'UNREACHABLE'
    return { ok: false, status, ...nothing, error: { code, message } }
  }
}
