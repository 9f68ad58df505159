/** Creating an agent, and changing it on top of exactly the version that was read. */
import './agents.css'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import { CreateForm, DeleteDefinition, EditForm } from '../../parts/definition-form.tsx'
import { NewPage } from '../../parts/detail-page.tsx'
import { useAction } from '../../parts/use-action.ts'
import { createInputOf, draftNames, draftOfAgent, newDraft, updateInputOf } from './agent-draft.ts'
import { AgentFields } from './agent-fields.tsx'
import {
  createAgentMutation,
  deleteAgentMutation,
  updateAgentMutation,
  type AgentDetail,
} from './documents.ts'
import { t } from '../../texts/texts.tsx'

export function NewAgent() {
  const projectId = useProject()
  const mutation = useMutation(createAgentMutation)
  return (
    <NewPage kind="agent" list="/agents" bodyClass="stack agent-page">
      <CreateForm
        kind="agent"
        list="/agents"
        query="?tab=try"
        empty={newDraft}
        mutation={mutation}
        write={createInputOf}
        send={async (input) => (await mutation.send({ input: { ...input, projectId } }))?.agent ?? null}
        renderFields={(fields) => <AgentFields {...fields} />}
      />
    </NewPage>
  )
}

export function Definition({ agent, reload }: { agent: AgentDetail; reload(): void }) {
  const mutation = useMutation(updateAgentMutation)
  const { act, isRunning } = useAction(deleteAgentMutation)
  return (
    <EditForm
      kind="agent"
      thing={agent}
      reload={reload}
      draftOf={draftOfAgent}
      names={draftNames}
      mutation={mutation}
      write={updateInputOf}
      send={async (input) => (await mutation.send({ input }))?.agent ?? null}
      renderFields={(fields) => <AgentFields {...fields} />}
    >
      <DeleteDefinition
        kind="agent"
        name={agent.name}
        list="/agents"
        isRunning={isRunning}
        remove={(done) => act({ input: { id: agent.id } }, done, 'good')}
      >
        {t('Its runs are kept, and running ones go on.')}
      </DeleteDefinition>
    </EditForm>
  )
}
