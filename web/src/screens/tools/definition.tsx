/** The definition of a tool, and saving it on top of exactly the version that was read. */
import { useMutation } from '../../api/query.ts'
import { DeleteDefinition, EditForm } from '../../parts/definition-form.tsx'
import { useAction } from '../../parts/use-action.ts'
import { DefinitionFields } from './definition-fields.tsx'
import { deleteToolMutation, updateToolMutation, type ToolDetail } from './documents.ts'
import { draftNames, draftOfTool, kindOf } from './tool-draft.ts'
import { updateInputOf } from './tool-input.ts'
import { t } from '../../texts/texts.tsx'

export function Definition({ tool, reload }: { tool: ToolDetail; reload(): void }) {
  const mutation = useMutation(updateToolMutation)
  const { act, isRunning } = useAction(deleteToolMutation)
  return (
    <EditForm
      kind="tool"
      thing={tool}
      reload={reload}
      draftOf={draftOfTool}
      names={draftNames}
      mutation={mutation}
      write={updateInputOf}
      send={async (input) => (await mutation.send({ input }))?.tool ?? null}
      renderFields={(fields) => <DefinitionFields kind={kindOf(tool)} {...fields} />}
    >
      <DeleteDefinition
        kind="tool"
        name={tool.name}
        list="/tools"
        isRunning={isRunning}
        remove={(done) => act({ input: { id: tool.id } }, done, 'good')}
      >
        {t('Agents lose the tool at once. Calls already proposed still run.')}
      </DeleteDefinition>
    </EditForm>
  )
}
