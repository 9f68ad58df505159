/** Resolves where an upstream is reached now: its configuration with the secrets filled in. */
import { hashJson } from '../../core/json.ts'
import type { Services } from '../access/index.ts'
import { fillSecrets, openSecrets, secretNames, SecretRefusedError } from '../secrets/index.ts'
import type { UpstreamConfig } from './config.ts'
import { UpstreamFault } from './fault.ts'

export interface UpstreamTarget {
  projectId: string
  url: URL
  headers: Record<string, string>
  /** The secrets' values that the URL and the headers contain. */
  secrets: string[]
  /** Identifies the target: it changes with the value of a secret. */
  key: string
}

/** Throws an UpstreamFault when a secret is missing, allows only other hosts, or does not fit in a URL or header. */
export async function targetOf(
  services: Services,
  projectId: string,
  config: Pick<UpstreamConfig, 'url' | 'headers'>,
): Promise<UpstreamTarget> {
  const templates = [config.url, ...Object.values(config.headers)]
  const withStandIns = fillWith(config.url)
  const values = await openSecrets(services, projectId, templates.flatMap(secretNames), withStandIns).catch(
    (error: unknown) => {
      throw error instanceof SecretRefusedError ? new UpstreamFault('secret_refused', error.message) : error
    },
  )
  const fill = (template: string): string => {
    const filled = fillSecrets(template, values)
    if ('text' in filled) return filled.text
    throw new UpstreamFault(
      'secret_missing',
      `The secret ${filled.missing} that this upstream needs does not exist.`,
    )
  }
  const address = fill(config.url)
  if (!URL.canParse(address) || new URL(address).origin !== new URL(withStandIns).origin)
    throw new UpstreamFault('invalid_configuration', 'The URL is not valid once its secrets are filled in.')
  const headers: Record<string, string> = {}
  for (const [name, template] of Object.entries(config.headers)) {
    headers[name] = fill(template)
    if (/[^\t\x20-\x7e]/.test(headers[name]))
      throw new UpstreamFault(
        'invalid_configuration',
        `The header ${name} contains characters that no header may contain.`,
      )
  }
  return {
    projectId,
    url: new URL(address),
    headers,
    secrets: [...values.values()],
    key: hashJson([address, headers]),
  }
}

function fillWith(template: string): string {
  return secretNames(template).reduce((made, name) => made.replaceAll(`{{secret:${name}}}`, 'x'), template)
}
