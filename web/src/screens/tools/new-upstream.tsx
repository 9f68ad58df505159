/** A new upstream: an mcp tool, whose server is tried before it is saved. */
import './tools.css'
import type { Issue } from '../../api/outcome.ts'
import { CreateForm } from '../../parts/definition-form.tsx'
import { NewPage } from '../../parts/detail-page.tsx'
import { UpstreamTrial, type TrialServer } from '../../parts/upstream-trial.tsx'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import { DefinitionFields } from './definition-fields.tsx'
import { createToolMutation } from './documents.ts'
import { FromServerJson } from './import/from-server-json.tsx'
import { configOf } from './tool-config.ts'
import { newDraft, type ToolDraft } from './tool-draft.ts'
import { createInputOf } from './tool-input.ts'
import { t } from '../../texts/texts.tsx'

export function NewUpstream() {
  const projectId = useProject()
  const mutation = useMutation(createToolMutation)
  const tried = (draft: ToolDraft): TrialServer | null => {
    const issues: Issue[] = []
    const { url, headers, auth } = (configOf('mcp', draft, [], issues) as { mcp: TrialServer }).mcp
    return issues.length > 0 ? null : { projectId, url, headers: headers ?? {}, ...(auth ? { auth } : {}) }
  }
  return (
    <NewPage kind="upstream" list="/tools" bodyClass="stack tool-page">
      <p className="mute">
        {t(
          'An upstream is a foreign MCP server. Each of its tools becomes a tool of your agents, called after the name that you give here: a server “crm” with a tool “search” is “crm_search”.',
        )}
      </p>
      <FromServerJson />
      <CreateForm
        kind="upstream"
        list="/upstreams"
        empty={newDraft}
        mutation={mutation}
        write={(draft) => createInputOf('mcp', draft)}
        send={async (input) => (await mutation.send({ input: { ...input, projectId } }))?.tool ?? null}
        renderFields={(fields) => (
          <>
            <DefinitionFields kind="mcp" {...fields} />
            <UpstreamTrial isReady={fields.draft.url.trim() !== ''} input={() => tried(fields.draft)} />
          </>
        )}
      />
    </NewPage>
  )
}
