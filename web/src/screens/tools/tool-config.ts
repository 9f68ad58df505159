/** The config of a tool, as the API takes it, from the texts of its fields. Pure. */
import { isObject } from '../../../../src/core/exact-json.ts'
import type { Issue } from '../../api/outcome.ts'
import { parseExactly } from '../../parts/exact-json.ts'
import { gateInputOf } from '../../parts/gate-draft.ts'
import type { Kind, UpdateInput } from './documents.ts'
import type { ToolDraft } from './tool-draft.ts'
import { t } from '../../texts/texts.tsx'

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

interface ActionGate {
  action: string
  gate: Parameters<typeof gateInputOf>[0]
}

type Config = NonNullable<UpdateInput['config']>

/** The whole config: an update replaces it, so gates of single actions are handed back. */
export function configOf(
  kind: Kind,
  draft: ToolDraft,
  gates: readonly ActionGate[],
  issues: Issue[],
): Config {
  const schema = (at: Kind) => {
    const path = ['config', at, 'inputSchema']
    if (draft.argumentFault !== '')
      issues.push({ path: ['input', ...path, 'argumentFault'], message: draft.argumentFault })
    return objectFrom(draft.inputSchema, path, issues)
  }
  const headers = (at: Kind) => objectFrom(draft.headers || '{}', ['config', at, 'headers'], issues)
  switch (kind) {
    case 'http':
      return {
        http: {
          url: draft.url.trim(),
          method: draft.method,
          headers: headers('http'),
          inputSchema: schema('http'),
        },
      } as Config
    case 'client':
      return { client: { inputSchema: schema('client') } } as Config
    case 'platform':
      return { platform: { actions: [...draft.actions] } } as Config
    case 'mcp': {
      const allow = linesOf(draft.allow)
      const auth = authOf(draft)
      return {
        mcp: {
          url: draft.url.trim(),
          headers: headers('mcp'),
          ...(allow.length > 0 ? { allow } : {}),
          deny: linesOf(draft.deny),
          trustHints: draft.trustHints,
          relay: { resources: linesOf(draft.relayResources), prompts: linesOf(draft.relayPrompts) },
          ...(auth ? { auth } : {}),
          ...(draft.ownLogins || draft.authKind === 'TOKEN_EXCHANGE' ? { login: 'PER_PERSON' } : {}),
          gates: gates.map(({ action, gate }) => ({ action, gate: gateInputOf(gate) })),
        },
      } as Config
    }
  }
}

function authOf(draft: ToolDraft) {
  const clientId = draft.authClientId.trim()
  const secret = draft.authSecret.trim()
  const issuer = draft.authIssuer.trim()
  const scopes = wordsOf(draft.authScopes)
  const omitResource = draft.authOmitResource
  switch (draft.authKind) {
    case 'NONE':
      return null
    case 'AUTHORIZATION_CODE':
      return {
        authorizationCode: {
          scopes,
          allowedScopes: wordsOf(draft.authAllowedScopes),
          omitResource,
          ...(clientId ? { clientId } : {}),
          ...(secret ? { clientSecret: secret } : {}),
          ...(issuer ? { issuer } : {}),
        },
      }
    case 'CLIENT_CREDENTIALS':
      return { clientCredentials: { clientId, clientSecret: secret, issuer, scopes, omitResource } }
    case 'PRIVATE_KEY_JWT':
      return {
        privateKeyJwt: {
          algorithm: draft.authAlgorithm.trim(),
          clientId,
          privateKey: secret,
          issuer,
          scopes,
          omitResource,
        },
      }
    case 'TOKEN_EXCHANGE': {
      const audience = draft.authAudience.trim()
      return {
        tokenExchange: {
          ...(draft.authIsKey
            ? { privateKey: secret, algorithm: draft.authAlgorithm.trim() }
            : { clientSecret: secret }),
          clientId,
          issuer,
          scopes,
          omitResource,
          ...(audience ? { audience } : {}),
        },
      }
    }
  }
}

/** The JSON object of a text; a fault is added to the issues. */
export function objectFrom(
  text: string,
  path: readonly string[],
  issues: Issue[],
): Record<string, unknown> | null {
  try {
    const value = parseExactly(text)
    if (isObject(value)) return value as Record<string, unknown>
    issues.push({ path: ['input', ...path], message: t('must be a JSON object') })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    issues.push({ path: ['input', ...path], message: t('is not JSON: {message}', { message }) })
  }
  return null
}
