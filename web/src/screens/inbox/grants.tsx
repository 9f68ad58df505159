/** Verdicts that are remembered: which calls pass without a question, how often and how long. */
import { Link } from 'wouter'
import type { ResultOf } from '../../api/document.ts'
import { usePages } from '../../api/pages.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { Ago, Countdown } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { grantsQuery, revokeMutation } from './grants-documents.ts'
import { Listing } from '../../parts/listing.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t } from '../../texts/texts.tsx'

const scopes = {
  EXACT: t('the same arguments'),
  SCHEMA: t('arguments that match a schema'),
  TOOL: t('any arguments'),
} as const

export function Grants() {
  const pages = usePages(grantsQuery, { active: true }, ['GRANT_CREATED', 'GRANT_REVOKED'])
  const { act, isRunning } = useAction(revokeMutation)
  const revoke = ({ id: grantId, toolName }: Grant) =>
    act({ input: { grantId } }, t('Calls of {tool} need approval again.', { tool: toolName })).then(
      pages.reload,
    )
  return (
    <div className="screen-body">
      <Listing
        pages={pages}
        label={t('Grants')}
        columns={[
          t('Tool'),
          t('Covers'),
          t('Holder'),
          t('Used'),
          t('Expires in'),
          t('Granted by'),
          t('Granted'),
          '',
        ]}
        empty={{
          title: t('No grants'),
          text: t('Decisions that also apply to later calls appear here until they expire.'),
        }}
        renderRow={(grant) => (
          <Row key={grant.id} grant={grant} isRunning={isRunning} revoke={() => void revoke(grant)} />
        )}
      />
    </div>
  )
}

type Grant = ResultOf<typeof grantsQuery>['grants']['nodes'][number]

function Row({ grant, isRunning, revoke }: { grant: Grant; isRunning: boolean; revoke: () => void }) {
  return (
    <tr>
      <td>
        <Foreign text={grant.toolName} max={80} />
      </td>
      <td>{scopes[grant.scope]}</td>
      <td>
        {grant.requester ? (
          <Principal of={grant.requester} />
        ) : (
          <CopyId id={grant.agentId ?? grant.threadId ?? ''} />
        )}
      </td>
      <td>
        {grant.refuses
          ? t('calls are rejected')
          : t('{uses} of {most}', { uses: grant.uses, most: grant.maxUses })}
      </td>
      <td>
        <Countdown until={grant.expiresAt} />
      </td>
      <td>
        <Principal of={grant.granter} />
      </td>
      <td>
        {grant.approval ? (
          <Link href={`/approvals/${grant.approval.id}`}>
            <Ago at={grant.createdAt} />
          </Link>
        ) : (
          <Ago at={grant.createdAt} />
        )}
      </td>
      <td>
        <ActionButton needs="grants:Revoke" className="danger" disabled={isRunning} onClick={revoke}>
          {t('Revoke')}
        </ActionButton>
      </td>
    </tr>
  )
}
