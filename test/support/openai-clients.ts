/** The clients of OpenAI that the APIs of OpenAI are judged by: three majors of the same package. */
import type { OpenAI } from 'openai6'
import { hasPeers, importPeer } from './peers.ts'

/** The majors that are installed. */
export const majors = hasPeers ? ([5, 6, 7] as const) : ([6] as const)

/** Opens a client of this major with the key. By default it does not retry by itself, so that a fault shows. */
export async function openClient(
  major: 5 | 6 | 7,
  url: string,
  apiKey: string,
  more: { fetch?: typeof fetch; maxRetries?: number } = {},
): Promise<OpenAI> {
  const module = (major === 6 ? await import('openai6') : await importPeer(`openai${major}`)) as {
    OpenAI?: typeof OpenAI
    default: typeof OpenAI
  }
  return new (module.OpenAI ?? module.default)({ apiKey, baseURL: `${url}/v1`, maxRetries: 0, ...more })
}
