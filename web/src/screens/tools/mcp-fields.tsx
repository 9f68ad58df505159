/** The fields of a tool behind an upstream MCP server. */
import type { Issue } from '../../api/outcome.ts'
import { Choice, Field } from '../../parts/fields.tsx'
import { Check, issuesAt, LongField } from '../../parts/long-fields.tsx'
import { draftNames, type ToolDraft } from './tool-draft.ts'

type Set = (part: Partial<ToolDraft>) => void

export function McpFields({ draft, set, issues }: { draft: ToolDraft; set: Set; issues: readonly Issue[] }) {
  const lines = (
    name: 'allow' | 'deny' | 'relayResources' | 'relayPrompts',
    path: string[],
    hint: string,
  ) => (
    <LongField
      label={draftNames[name]}
      value={draft[name]}
      path={path}
      issues={issues}
      isMono
      hint={hint}
      onChange={(value) => set({ [name]: value })}
    />
  )
  return (
    <>
      <div className="field-pair">
        {lines('allow', ['config', 'mcp', 'allow'], 'Names of its tools, one a line; empty: all.')}
        {lines('deny', ['config', 'mcp', 'deny'], 'Names of its tools, one a line.')}
        {lines(
          'relayResources',
          ['config', 'mcp', 'relay', 'resources'],
          'Patterns of URIs with *, one a line.',
        )}
        {lines(
          'relayPrompts',
          ['config', 'mcp', 'relay', 'prompts'],
          'Patterns of names with *, one a line.',
        )}
      </div>
      <Check
        label={draftNames.trustHints}
        value={draft.trustHints}
        hint="Its readOnlyHint and idempotentHint decide whether a call is repeated after a crash."
        onChange={(trustHints) => set({ trustHints })}
      />
      <AuthFields draft={draft} set={set} />
      {issuesAt(issues, ['config', 'mcp', 'auth']).map(({ path, message }) => (
        <p key={`${path.join('.')} ${message}`} className="tone-bad small" role="alert">
          {path.slice(4).join('.')} {message}
        </p>
      ))}
    </>
  )
}

function AuthFields({ draft, set }: { draft: ToolDraft; set: Set }) {
  const { authKind } = draft
  const field = (
    name: 'authClientId' | 'authIssuer' | 'authScopes' | 'authAllowedScopes' | 'authAlgorithm',
  ) => <Field label={draftNames[name]} value={draft[name]} onChange={(value) => set({ [name]: value })} />
  return (
    <div className="field-pair">
      <Choice
        label={draftNames.authKind}
        value={authKind}
        options={[
          { value: 'NONE', name: 'nothing of its own' },
          { value: 'AUTHORIZATION_CODE', name: 'a person who logs in' },
          { value: 'CLIENT_CREDENTIALS', name: 'a client secret' },
          { value: 'PRIVATE_KEY_JWT', name: 'a signed assertion' },
        ]}
        onChange={(value) => set({ authKind: value })}
      />
      {authKind !== 'NONE' && (
        <>
          {field('authClientId')}
          <Field
            label={
              authKind === 'PRIVATE_KEY_JWT'
                ? 'Name of the secret with the private key'
                : 'Name of the secret'
            }
            value={draft.authSecret}
            onChange={(authSecret) => set({ authSecret })}
          />
          {field('authIssuer')}
          {field('authScopes')}
          {authKind === 'AUTHORIZATION_CODE' && field('authAllowedScopes')}
          {authKind === 'PRIVATE_KEY_JWT' && field('authAlgorithm')}
        </>
      )}
    </div>
  )
}
