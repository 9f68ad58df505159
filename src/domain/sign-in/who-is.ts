/** Who verified claims make the one who signed in: a person of a project, or the holder of a key that the account has joined. */
import type { JWTPayload } from 'jose'
import { AppError } from '../../core/errors.ts'
import {
  joinInvitation,
  keysOfAccount,
  type JoinedKey,
  type Principal,
  type Services,
} from '../access/index.ts'
import { accountOf, principalOfClaims, type OidcSettings } from './oidc.ts'

/** What the sign-in is for, and where it came from. */
interface Goal {
  as?: string | undefined
  invitation?: string | undefined
}
interface From {
  remoteAddress: string | null
  requestId: string
}

/**
 * Claims that name a project say who it is. Else the account joins with the invitation, or is the holder of the key that it
 * has joined before; of several the one that was asked for, or all to choose from. FORBIDDEN and CONFLICT as `finish`.
 */
export async function whoIs(
  services: Services,
  settings: OidcSettings,
  claims: JWTPayload,
  { as, invitation }: Goal,
  from: From,
): Promise<{ principal: Principal } | { choices: readonly JoinedKey[] }> {
  const hasProject = (claims[settings.projectClaim] ?? null) !== null
  const account = accountOf(settings, claims)
  if (invitation !== undefined) {
    if (hasProject || !account) throw cannotJoin(settings, hasProject)
    const { principal } = await joinInvitation(services, { id: invitation, account, ...from })
    return { principal }
  }
  if (hasProject || !account) {
    const principal = await principalOfClaims(services, settings, claims)
    if (principal) return { principal }
    throw nowhere(settings)
  }
  const keys = await keysOfAccount(services.db, account)
  const [only] = keys.length === 1 ? keys : keys.filter(({ principal }) => principal.id === as)
  if (only) return { principal: only.principal }
  if (keys.length === 0) throw nowhere(settings)
  return { choices: keys }
}

function nowhere({ projectClaim, roleClaim }: OidcSettings): AppError {
  return new AppError(
    'FORBIDDEN',
    `Your account has no project here: its claim ${projectClaim} names none that exists, or ${roleClaim} is no role, ` +
      'and no invitation that it has joined lasts.',
    { action: 'sessions:Start' },
  )
}

function cannotJoin({ projectClaim }: OidcSettings, hasProject: boolean): AppError {
  return new AppError(
    'FORBIDDEN',
    hasProject
      ? `Your account has its project by its claim ${projectClaim}, which wins over an invitation. Open the link again and ` +
          'make a key, or sign in without the invitation.'
      : 'Your account has no usable subject. Open the link again and make a key.',
    { action: 'sessions:Start' },
  )
}
