/** The start of a run as a program would write it, to be copied. The key is a variable of the shell. */
import { useState } from 'react'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { useQuery } from '../../api/query.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import type { Run } from '../../parts/run/run-feed.ts'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { againQuery, changesOf, givenSettings, keepInput, type Again } from './start-input.ts'
import type { StartInput } from './use-start.ts'
import { t } from '../../texts/texts.tsx'

export function CopyStart({ run }: { run: Run }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('Start it from a program')}</summary>
      {isOpen && <Texts run={run} />}
    </details>
  )
}

function Texts({ run }: { run: Run }) {
  const { data, error, reload } = useQuery(againQuery, { id: run.id })
  if (error !== null && !data) return <Failure error={error} retry={reload} />
  if (!data?.generation) return <Skeleton lines={4} />
  const variables = { input: inputOf(run, data.generation) }
  return (
    <div className="stack">
      <h3>GraphQL</h3>
      <CopyText label={t('operation')} text={operation} />
      <CopyText label={t('variables')} text={writeJson(variables, 2)} />
      <h3>curl</h3>
      <CopyText label={t('curl command')} text={curlOf(variables)} />
      <p className="small mute">{t('Put a key into GATEHOUSE_KEY first: export GATEHOUSE_KEY=…')}</p>
    </div>
  )
}

const operation = `mutation($input: StartGenerationInput!) {
  startGeneration(input: $input) {
    __typename
    ... on GenerationPayload { generation { id status } }
    ... on Error { code message }
  }
}`

/** The run as it was started: in its thread, or with the history that it began with. */
function inputOf({ id, threadId, retryOf, retryStep }: Run, again: Again): StartInput {
  const beganThread = id.replace(/^gen_/, '') === threadId.replace(/^thr_/, '')
  return {
    agentId: again.agent?.id ?? '',
    ...keepInput(again, again.input.messages.at(-1)?.content ?? ''),
    ...givenSettings(changesOf(again)),
    ...(beganThread ? {} : { threadId }),
    ...(retryOf ? { retryOf: { generationId: retryOf.id, step: retryStep ?? 0 } } : {}),
  }
}

/** The body is one line, so that nothing in it ends the document; the shell changes nothing in a quoted one. */
const curlOf = (variables: object) => `curl -s '${location.origin}/graphql' \\
  -H "authorization: Bearer $GATEHOUSE_KEY" \\
  -H 'content-type: application/json' \\
  --data-binary @- <<'JSON'
${writeJson({ query: operation, variables })}
JSON`
