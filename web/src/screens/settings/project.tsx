/** The settings of the project itself: its name, whether gates need a second person, and how long runs outlast a sign-in. */
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { useMutation, useQuery } from '../../api/query.ts'
import { currentProject } from '../../api/session.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { Field } from '../../parts/fields.tsx'
import { changedNames } from '../../parts/rebase.ts'
import { SettingsForm, useSettings } from '../../parts/settings-form.tsx'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { toast } from '../../parts/toasts.tsx'
import { t } from '../../texts/texts.tsx'

const projectQuery = graphql(`
  query ProjectSettings($projectId: ID!) {
    project(id: $projectId) {
      id
      name
      gatesNeedSecond
      runGraceSeconds
    }
  }
`)

const updateMutation = command('updateProject')

const names = {
  name: t('Name'),
  gatesNeedSecond: t('A change of a gate needs a second person'),
  runGraceSeconds: t('Seconds that a run may go on after its requester’s sign-in has ended'),
}

interface Draft {
  name: string
  gatesNeedSecond: boolean
  runGraceSeconds: string
}

export function ProjectSettings() {
  const { data, error, reload } = useQuery(projectQuery, {}, { eventTypes: ['PROJECT_UPDATED'] })
  if (error && !data) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={6} />
  if (!data.project) return null
  const { name, gatesNeedSecond, runGraceSeconds } = data.project
  return (
    <ProjectForm
      standing={{ name, gatesNeedSecond, runGraceSeconds: String(runGraceSeconds) }}
      reload={reload}
    />
  )
}

function ProjectForm({ standing, reload }: { standing: Draft; reload(): void }) {
  const settings = useSettings(standing)
  const form = useMutation(updateMutation)
  const { began, draft, setDraft } = settings
  const issues = form.refused?.issues ?? []
  const change = (next: Partial<Draft>) => setDraft({ ...draft, ...next })
  const save = async () => {
    const changed = Object.fromEntries(
      changedNames(began, draft).map((one) => [
        one,
        one === 'runGraceSeconds' ? Number(draft.runGraceSeconds) : draft[one as keyof Draft],
      ]),
    )
    if (!(await form.send({ input: { id: currentProject()!, ...changed } }))) return
    toast(t('The project is saved.'), { tone: 'good' })
    settings.start(draft)
    reload()
  }
  return (
    <>
      <SettingsForm
        needs="projects:Update"
        settings={settings}
        names={names}
        mutation={form}
        isDirty={settings.isEdited}
        isComplete={draft.name.trim() !== '' && /^\d+$/.test(draft.runGraceSeconds)}
        onSave={save}
      >
        <Field
          label={names.name}
          at="name"
          value={draft.name}
          onChange={(name) => change({ name })}
          isRequired
          issues={issues}
        />
        <label className="row">
          <input
            type="checkbox"
            checked={draft.gatesNeedSecond}
            disabled={began.gatesNeedSecond}
            onChange={(event) => change({ gatesNeedSecond: event.target.checked })}
          />
          {names.gatesNeedSecond}
        </label>
        {began.gatesNeedSecond && (
          <p className="small mute">{t('Only a proposal that another person confirms takes this back.')}</p>
        )}
        <Field
          label={names.runGraceSeconds}
          at="runGraceSeconds"
          value={draft.runGraceSeconds}
          onChange={(runGraceSeconds) => change({ runGraceSeconds })}
          issues={issues}
        />
      </SettingsForm>
      <p className="small mute">
        {t('Id')} <CopyId id={currentProject()!} />
      </p>
    </>
  )
}
