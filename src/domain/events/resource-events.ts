/** Events of secrets, model providers and files. They name what changed, and never have a value. */
import { withExample } from '../../core/shapes.ts'
import { event, ofRequester, projectOnly } from './define.ts'
import { id, word } from './fields.ts'

const group = 'resources'
const resource = word('The name of the secret or model provider.', 'KEY')
const secret = { log: projectOnly, group, data: { name: resource } } as const
const provider = { ...secret, data: { name: withExample(resource.clone(), 'compatible') } }
const file = {
  log: ofRequester,
  group,
  data: { fileId: id('The id of the file.', 'file_1'), name: word('The name of the file.', 'a.txt') },
} as const

export const secretSet = event('SECRET_SET', {
  object: 'Secret',
  ...secret,
  about: 'A secret was created, or its value or hosts were replaced. The event never has a value.',
})
export const secretDeleted = event('SECRET_DELETED', {
  object: 'Secret',
  ...secret,
  about: 'A secret was deleted.',
})

export const providerSet = event('PROVIDER_SET', {
  object: 'Provider',
  ...provider,
  about: 'A model provider was created or replaced.',
})
export const providerDeleted = event('PROVIDER_DELETED', {
  object: 'Provider',
  ...provider,
  about: 'A model provider was deleted.',
})

export const fileCreated = event('FILE_CREATED', {
  object: 'File',
  ...file,
  about: 'A file was announced; an upload of its bytes may follow.',
})
export const fileUploaded = event('FILE_UPLOADED', {
  object: 'File',
  ...file,
  about: 'The bytes of a file were uploaded.',
})
export const fileDeleted = event('FILE_DELETED', { object: 'File', ...file, about: 'A file was deleted.' })
