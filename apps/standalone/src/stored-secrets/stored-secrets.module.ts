import { type DynamicModule, Module } from '@nestjs/common';
import type { DataFolder } from '../data-folder.js';
import { StoredSecretsController } from './stored-secrets.controller.js';
import { StoredSecretsService } from './stored-secrets.service.js';

/** Lets operators replace the secret in the data folder. */
@Module({})
export class StoredSecretsModule {
  /** @param isFromEnvironment whether the environment sets the secret, so that none is stored */
  static forRoot(folder: DataFolder, isFromEnvironment: boolean): DynamicModule {
    return {
      module: StoredSecretsModule,
      controllers: [StoredSecretsController],
      providers: [{ provide: StoredSecretsService, useValue: new StoredSecretsService(folder, isFromEnvironment) }],
    };
  }
}
