import { type DynamicModule, Module } from '@nestjs/common';
import type { DataFolder } from '../data-folder.js';
import { StoredSecretsController } from './stored-secrets.controller.js';
import { StoredSecretsService } from './stored-secrets.service.js';

/** The secret that is kept in the data folder, for operators who replace it. */
@Module({})
export class StoredSecretsModule {
  /** @param isGiven whether the environment gives the secret, so that none is kept */
  static forRoot(folder: DataFolder, isGiven: boolean): DynamicModule {
    return {
      module: StoredSecretsModule,
      controllers: [StoredSecretsController],
      providers: [{ provide: StoredSecretsService, useValue: new StoredSecretsService(folder, isGiven) }],
    };
  }
}
