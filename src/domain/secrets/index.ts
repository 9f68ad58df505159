/** The entry point of secrets. */
export {
  seal,
  unseal,
  deleteSecret,
  fillSecrets,
  listSecrets,
  faultOfUse,
  openSecrets,
  openSecretsAhead,
  resealSecrets,
  secretNames,
  SecretRefusedError,
  setSecret,
  Secret,
  secretShape,
} from './secrets.ts'
