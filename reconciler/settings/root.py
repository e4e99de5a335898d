"""Which settings are there? The whole tree; defaults are here and nowhere else."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, PrivateAttr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from reconciler.settings.capacity import CapacitySettings
from reconciler.settings.doors import AwsSettings, CatalogSettings, KubernetesSettings
from reconciler.settings.karpenter import KarpenterSettings
from reconciler.settings.names import DELIMITER, PREFIX
from reconciler.settings.probing import ProbeSettings
from reconciler.settings.running import LeaderSettings, LogSettings, ServerSettings, WorkSettings
from reconciler.settings.shape import SettingPath
from reconciler.settings.slicing import SlicingSettings
from reconciler.settings.verifying import VerifySettings


class Settings(BaseSettings):
    """Everything that people may decide. Built once by load.load, then turned into plain policies and arguments."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter=DELIMITER)

    capacity: CapacitySettings = Field(default_factory=CapacitySettings)
    slicing: SlicingSettings = Field(default_factory=SlicingSettings)
    probe: ProbeSettings = Field(default_factory=ProbeSettings)
    verify: VerifySettings = Field(default_factory=VerifySettings)
    karpenter: KarpenterSettings = Field(default_factory=KarpenterSettings)
    kubernetes: KubernetesSettings = Field(default_factory=KubernetesSettings)
    aws: AwsSettings = Field(default_factory=AwsSettings)
    catalog: CatalogSettings = Field(default_factory=CatalogSettings)
    leader: LeaderSettings = Field(default_factory=LeaderSettings)
    server: ServerSettings = Field(default_factory=ServerSettings)
    logs: LogSettings = Field(default_factory=LogSettings)
    work: WorkSettings = Field(default_factory=WorkSettings)

    _origins: Mapping[SettingPath, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def built(cls, tree: Mapping[str, Any], origins: Mapping[SettingPath, str]) -> "Settings":
        """Settings that know where each value came from. Raises pydantic's ValidationError."""
        settings = cls(**tree)
        settings._origins = origins
        return settings

    def origin(self, path: SettingPath) -> str:
        """`default`, `env NAME` or `file PATH, line N`."""
        return self._origins.get(path, "default")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What load.load hands over: pydantic's own sources pass unknown names over, and stop at the first fault."""
        return (init_settings,)
