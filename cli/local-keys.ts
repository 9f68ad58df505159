/** `gatehouse keys create --local`: a key made beside the database, for an operator who has none left. */
import { userInfo } from 'node:os'
import { showNewKey } from './new-key.ts'
import { runHere } from './programs.ts'
import { textOption, UsageError, type Command, type ParsedArguments } from './usage.ts'

export const localOptions: Command['options'] = {
  local: { type: 'boolean' },
  project: { type: 'string' },
  operator: { type: 'boolean' },
}

export const localHelp = `--local makes the key in the database itself, while servers run or not, and needs no other key. It has the
settings of the servers (DATABASE_URL or GATEHOUSE_DATA_DIR), and runs as a user who may write that. The audit log
says that the key was made on the machine.

  --project ID    the project, by id or name; needed where there are several
  --operator      an operator's key: its role, ADMIN, counts in every project
`

/** Makes the key and shows it. */
export async function createLocal(given: ParsedArguments): Promise<number> {
  const [what, name, ...rest] = given.words
  if (what !== 'create' || name === undefined || rest.length > 0)
    throw new UsageError('--local goes with create NAME.')
  const role = textOption(given, 'role')?.toLowerCase()
  if (role === undefined) throw new UsageError('--local needs --role ROLE.')
  const server = ['url', 'key-file', 'agent'].find((option) => given.options[option] !== undefined)
  if (server) throw new UsageError(`--${server} does not go with --local.`)
  const [project, expires] = [textOption(given, 'project'), textOption(given, 'expires')]
  const made = await runHere<{ id: string; name: string; secret: string }>('local-key', {
    name,
    role,
    ...(project === undefined ? {} : { project }),
    ...(expires === undefined ? {} : { expires }),
    votes: given.options['no-votes'] !== true,
    operator: given.options['operator'] === true,
    user: systemUser(),
  })
  if (!made) return 1
  showNewKey(given, made.result)
  return 0
}

/** A user of a container may have no name. */
function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
