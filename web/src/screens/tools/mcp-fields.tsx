/** The fields of a tool behind an upstream MCP server. */
import { issuesAt } from '../../parts/fields.tsx'
import { draftNames, type ToolDraft } from './tool-draft.ts'
import { fieldsOf, type DraftProps } from '../../parts/draft-fields.tsx'
import { Faults } from '../../parts/fault.tsx'
import { t } from '../../texts/texts.tsx'

export function McpFields(part: DraftProps<ToolDraft>) {
  const { long, check } = fieldsOf(draftNames, part)
  const lines = (name: 'allow' | 'deny' | 'relayResources' | 'relayPrompts', path: string[], hint: string) =>
    long(name, { at: ['config', 'mcp', ...path], isMono: true, hint })
  return (
    <>
      <div className="field-pair">
        {lines('allow', ['allow'], t('Names of its tools, one a line; empty: all.'))}
        {lines('deny', ['deny'], t('Names of its tools, one a line.'))}
        {lines('relayResources', ['relay', 'resources'], t('Patterns of URIs with *, one a line.'))}
        {lines('relayPrompts', ['relay', 'prompts'], t('Patterns of names with *, one a line.'))}
      </div>
      {check('trustHints', {
        hint: t('Its readOnlyHint and idempotentHint decide whether a call is repeated after a crash.'),
      })}
      {check('ownLogins', {
        hint: t('Each call runs with the login of the person for whom it is made, and waits for it.'),
        at: ['config', 'mcp', 'login'],
      })}
      <AuthFields {...part} />
      <Faults of={issuesAt(part.issues, ['config', 'mcp', 'auth'])} from={4} />
    </>
  )
}

function AuthFields(part: DraftProps<ToolDraft>) {
  const { authKind, authIsKey } = part.draft
  const exchanges = authKind === 'TOKEN_EXCHANGE'
  const signs = authKind === 'PRIVATE_KEY_JWT' || (exchanges && authIsKey)
  const { text, choice, check } = fieldsOf(draftNames, part)
  const secret = signs ? t('Name of the secret with the private key') : t('Name of the secret')
  return (
    <div className="field-pair">
      {choice('authKind', [
        { value: 'NONE', name: t('nothing of its own') },
        { value: 'AUTHORIZATION_CODE', name: t('a person who logs in') },
        { value: 'CLIENT_CREDENTIALS', name: t('a client secret') },
        { value: 'PRIVATE_KEY_JWT', name: t('a signed assertion') },
        { value: 'TOKEN_EXCHANGE', name: t('an exchanged sign-in') },
      ])}
      {authKind !== 'NONE' && (
        <>
          {text('authClientId')}
          {text('authSecret', { label: secret })}
          {text('authIssuer')}
          {text('authScopes')}
          {authKind === 'AUTHORIZATION_CODE' && text('authAllowedScopes')}
          {exchanges && text('authAudience')}
          {exchanges &&
            check('authIsKey', {
              hint: t('It signs the requests, and who acts: the agents through which the person calls.'),
            })}
          {signs && text('authAlgorithm')}
          {check('authOmitResource', {
            hint: t('For authorization servers that refuse it, such as Microsoft Entra ID.'),
          })}
        </>
      )}
    </div>
  )
}
