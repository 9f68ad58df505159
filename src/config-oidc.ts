/** The settings of an identity provider: their forms, and what they require of each other. Pure. */
import { z } from 'zod'
import { list, url } from './config-values.ts'

/** See OidcSettings of domain/access. */
export interface OidcConfig {
  issuer: string
  audiences: string[]
  jwksUrl: string | null
  projectClaim: string
  roleClaim: string
  /** How this server is registered there, so that people can sign in; null: they cannot. */
  client: { id: string; secret: string | null; scopes: string } | null
}

export const oidcShapes = {
  GATEHOUSE_OIDC_ISSUER: url(['http:', 'https:']),
  GATEHOUSE_OIDC_AUDIENCE: list,
  GATEHOUSE_OIDC_JWKS_URL: url(['http:', 'https:']),
  GATEHOUSE_OIDC_PROJECT_CLAIM: z.string().min(1),
  GATEHOUSE_OIDC_ROLE_CLAIM: z.string().min(1),
  GATEHOUSE_OIDC_CLIENT_ID: z.string().min(1),
  GATEHOUSE_OIDC_CLIENT_SECRET: z.string().min(1),
  GATEHOUSE_OIDC_SCOPES: z
    .string()
    .refine((value) => value.split(' ').includes('openid'), { message: 'must have openid among its scopes' }),
}

type Set = { [Name in keyof typeof oidcShapes]?: z.output<(typeof oidcShapes)[Name]> }

const names = Object.keys(oidcShapes) as (keyof typeof oidcShapes)[]
const oidcDetails = names.filter((name) => name !== 'GATEHOUSE_OIDC_ISSUER')

/** Settings that require others which are missing. */
export function oidcConflicts(set: Set): string[] {
  const mistakes: string[] = []
  if (!set.GATEHOUSE_OIDC_ISSUER && oidcDetails.some((name) => set[name] !== undefined))
    mistakes.push(`${oidcDetails.join(', ')} require GATEHOUSE_OIDC_ISSUER`)
  if (!set.GATEHOUSE_OIDC_CLIENT_ID && (set.GATEHOUSE_OIDC_CLIENT_SECRET || set.GATEHOUSE_OIDC_SCOPES))
    mistakes.push('GATEHOUSE_OIDC_CLIENT_SECRET and GATEHOUSE_OIDC_SCOPES require GATEHOUSE_OIDC_CLIENT_ID')
  return mistakes
}

/** The provider; null when none is configured. */
export function oidcOf(set: Set): OidcConfig | null {
  const issuer = set.GATEHOUSE_OIDC_ISSUER
  if (!issuer) return null
  return {
    issuer,
    audiences: set.GATEHOUSE_OIDC_AUDIENCE ?? [],
    jwksUrl: set.GATEHOUSE_OIDC_JWKS_URL ?? null,
    projectClaim: set.GATEHOUSE_OIDC_PROJECT_CLAIM ?? 'gatehouse_project',
    roleClaim: set.GATEHOUSE_OIDC_ROLE_CLAIM ?? 'gatehouse_role',
    client: clientOf(set),
  }
}

function clientOf(set: Set): OidcConfig['client'] {
  const id = set.GATEHOUSE_OIDC_CLIENT_ID
  if (!id) return null
  const secret = set.GATEHOUSE_OIDC_CLIENT_SECRET ?? null
  return { id, secret, scopes: set.GATEHOUSE_OIDC_SCOPES ?? 'openid profile email' }
}
